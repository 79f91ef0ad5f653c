#include "clients/direct/planner.h"

namespace fedhive::clients::direct {

// One function each, in ops/.
LayerOp linear_op();
LayerOp conv2d_op();
LayerOp max_pool_op();
LayerOp avg_pool_op();
LayerOp channel_shuffle_op();
LayerOp relu_op();
LayerOp tanh_op();
LayerOp dropout_op();
LayerOp dropout2d_op();
LayerOp flatten_op();
LayerOp batch_norm_op();
LayerOp group_norm_op();
LayerOp layer_norm_op();
LayerOp residual_op();
LayerOp embedding_op();
LayerOp gelu_op();
LayerOp scale_op();
LayerOp position_op();
LayerOp attention_op();
LayerOp last_position_op();
LayerOp mean_op();
LayerOp lstm_op();
LayerOp gru_op();

const LayerTable<LayerOp>& layer_ops() {
    static const LayerTable<LayerOp> table{
        linear_op(),     conv2d_op(),     max_pool_op(), avg_pool_op(),  channel_shuffle_op(),
        relu_op(),       tanh_op(),       dropout_op(),  dropout2d_op(), flatten_op(),
        group_norm_op(), layer_norm_op(), residual_op(), embedding_op(), batch_norm_op(),
        gelu_op(),       scale_op(),      position_op(), attention_op(), last_position_op(),
        lstm_op(),       gru_op(),        mean_op()};
    return table;
}

}  // namespace fedhive::clients::direct
