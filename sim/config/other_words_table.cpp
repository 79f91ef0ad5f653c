#include "sim/config/other_words.h"

namespace fedhive::sim {

const std::vector<OtherWords>& other_words() {
    static const std::vector<OtherWords> rows = {
        {"training.optimizer.lr",
         "lr learning_rate eta eta_l step_size base_lr local_lr client_lr lr_client lr_local client_learning_rate "
         "local_learning_rate optimizer.lr"},
        {"training.optimizer.momentum", "momentum sgd_momentum client_momentum local_momentum optimizer.momentum"},
        {"training.optimizer.weight_decay", "weight_decay wd l2 l2_reg l2_penalty optimizer.weight_decay"},
        {"training.optimizer.name", "optimizer optim client_optimizer local_optimizer optimizer_name .type .algorithm"},
        {"training.lr_schedule.name", "schedule scheduler lr_scheduler learning_rate_schedule .type"},
        {"training.lr_schedule.gamma", "lr_decay decay_rate learning_rate_decay"},
        {"training.local_epochs",
         "epochs epoch num_epochs n_epochs e max_epochs num_local_epochs local_ep client_epochs epochs_per_round train_epochs "
         "num_train_epochs"},
        {"training.local_steps",
         "local_iterations local_iters local_updates num_local_steps steps_per_round num_steps max_steps steps"},
        {"training.batch_size",
         "batch batchsize batch_size b bs local_bs local_batch_size client_batch_size train_batch_size minibatch "
         "minibatch_size mini_batch_size per_device_train_batch_size"},
        {"training.cohort",
         "cohort_size clients_per_round num_clients_per_round client_num_per_round selected_clients num_selected_clients "
         "clients_selected sampled_clients num_sampled_clients sample_clients num_participants participants "
         "participants_per_round users_per_round min_fit_clients"},
        {"training.participation",
         "fraction frac c fraction_fit fit_fraction fraction_train client_fraction sample_rate sampling_rate sample_fraction "
         "sample_ratio sampling_ratio client_sampling_rate client_sample_ratio participation_rate participation_ratio "
         "join_ratio"},
        {"sampling.name",
         "sampler client_sampler client_selection selection selection_strategy sampling_strategy sampling_method .type "
         ".scheme"},
        {"training.clip_norm",
         "clip grad_clip clip_grad gradient_clip gradient_clipping max_grad_norm clip_grad_norm gradient_clip_val max_norm"},
        {"training.precision", "amp fp16 bf16 mixed_precision dtype autocast"},
        {"training.engine", "backend framework"},
        {"strategy.name",
         "strategy algorithm algo alg method federated_optimizer fl_algorithm fed_algorithm "
         ".type"},
        {"strategy.aggregator", "aggregation aggregation_method aggregation_rule agg_rule defense .rule"},
        {"strategy.server_lr", "global_lr lr_server server_learning_rate global_learning_rate eta_g .lr .learning_rate .eta"},
        {"strategy.server_momentum", "global_momentum .momentum"},
        {"strategy.server", "server_optimizer global_optimizer server_opt .optimizer"},
        {"strategy.proximal_mu", "mu prox_mu fedprox_mu proximal prox"},
        {"mode.name", "mode async asynchronous sync synchronous synchronization .type"},
        {"mode.quorum", "buffer_size buffer buffer_goal over_selection"},
        {"data.format", "data dataset dataset_name data_name dataset_type data_set .name .type"},
        {"data.root", "data_dir data_path data_root data_folder dataset_dir dataset_path root_dir .dir .path .folder"},
        {"data.train", "train_file train_path train_data train_set trainset training_data training_set train_dataset"},
        {"data.test", "test_file test_path test_data test_set testset test_dataset"},
        {"data.classes", "num_classes n_classes n_labels"},
        {"data.normalize", "normalization transform transforms"},
        {"data.augment", "augmentation augmentations data_augmentation"},
        {"data.partition.clients",
         "clients num_clients n_clients total_clients client_num client_num_in_total number_of_clients users num_users n_users "
         "parties num_parties n_parties num_partitions num_supernodes"},
        {"data.partition.scheme",
         "partition scheme split partition_method partition_type partition_scheme partitioner distribution iid non_iid "
         "heterogeneity "
         ".method .type .name"},
        {"data.partition.alpha", "alpha dirichlet_alpha partition_alpha dir_alpha dirichlet concentration .beta"},
        {"data.partition.shards_per_client", "shards num_shards n_shards shards_per_user"},
        {"data.partition.labels_per_client",
         "classes_per_client num_classes_per_client class_per_client labels_per_user classes_per_user"},
        {"data.partition.holdout",
         "val_ratio val_split val_fraction validation_split validation_fraction test_ratio test_fraction"},
        {"model.name", "model arch architecture net network nn model_name model_type backbone .type"},
        {"model.init", "pretrained pretrained_model weights init_model initial_model initial_weights"},
        {"model.frozen", "freeze frozen_layers"},
        {"model.local", "personal_layers personalized_layers local_layers"},
        {"rounds",
         "num_rounds n_rounds t global_rounds num_global_rounds comm_round comm_rounds communication_rounds total_rounds "
         "max_rounds server_rounds num_server_rounds global_epochs fl_rounds"},
        {"seed", "random_seed rng_seed manual_seed torch_seed random_state"},
        {"name", "experiment experiment_name exp_name run_name"},
        {"device", "gpu gpus cuda use_gpu use_cuda accelerator"},
        {"workers", "num_workers n_workers processes num_processes n_jobs num_jobs jobs parallelism nproc num_cpus"},
        {"threads", "num_threads n_threads omp_num_threads"},
        {"task", "loss loss_fn loss_function criterion objective problem"},
        {"evaluation.every",
         "eval_every test_every evaluate_every eval_freq eval_frequency eval_interval evaluation_interval test_interval "
         "frequency_of_the_test .interval .frequency .freq"},
        {"evaluation.chunk_size", "eval_batch_size test_batch_size test_bs .batch_size .batch .batchsize"},
        {"stop.test_accuracy", "target_accuracy target_acc goal_accuracy .accuracy .target_accuracy"},
        {"checkpoint.every",
         "save_every checkpoint_every save_freq checkpoint_freq checkpoint_interval save_interval .interval"},
        {"failures.policy", "on_failure failure_policy accept_failures"},
        {"failures.deadline_s", "timeout timeout_s round_timeout deadline .timeout_s"},
        {"devices.availability.probability", "availability client_availability availability_rate"},
        {"privacy.epsilon", "target_epsilon privacy_budget .target_epsilon"},
        {"privacy.delta", "target_delta .target_delta"},
        {"upload",
         "compression compressor compress quantization quantize sparsification differential_privacy dp "
         "noise_multiplier"},
        {"download",
         "downlink downlink_compression broadcast_compression server_compression compress_download download_compression "
         "quantized_broadcast"},
        {"attack.name", "attacks attacker attackers adversary byzantine_attack attack_type attack_name .type .kind"},
        {"attack.share", ".fraction .ratio .rate attack_ratio byzantine_fraction byzantine_ratio malicious_fraction"}};
    return rows;
}

namespace {

constexpr const char* kMnistFamily = "for the MNIST family (`fedhive data` fetches its files) write";
constexpr const char* kArchive = "docs/data.md shows how Python converts it to archives; then write";
constexpr const char* kExported = "to use a PyTorch network, export it to a file (docs/models.md) and write";

}  // namespace

const std::vector<OtherValues>& other_values() {
    static const std::vector<OtherValues> rows = {
        {"device", "gpu cuda0 nvidia", "cuda"},
        {"mps", "false no 0", "off"},
        {"mps", "true yes 1", "on"},
        {"clock", "real real_time", "wall"},
        {"clock", "simulated simulation", "virtual"},
        {"task", "lm language_model language_modeling next_character next_word", "next_token"},
        {"task", "multiclass binary", "classification"},
        {"data.format", "mnist fashion_mnist kmnist qmnist emnist", "", kMnistFamily, "data: {format: idx, root: FOLDER}"},
        {"data.format", "femnist", "", "for FEMNIST as LEAF writes it (docs/data.md) write",
         "data: {format: leaf, train: FOLDER, test: FOLDER}"},
        {"data.format", "shakespeare tiny_shakespeare", "", "for plays as one text (docs/data.md) write",
         "data: {format: text, train: FILE}"},
        {"data.format",
         "parquet arrow feather huggingface hf hf_datasets datasets torchvision tfds pandas sklearn scikit_learn libsvm hdf5 "
         "h5 "
         "pickle pkl pt pth torch pytorch",
         "", kArchive, "data: {format: npz, train: train.npz, test: test.npz}"},
        {"data.format", "tsv table excel xlsx", "csv"},
        {"data.format", "json", "leaf"},
        {"data.format", "npy numpy", "npz"},
        {"data.format", "image_folder png jpg jpeg imagenet tiny_imagenet celeba", "images"},
        {"data.partition.scheme", "non_iid lda dir latent_dirichlet hetero", "dirichlet"},
        {"data.partition.scheme", "pathological", "shards"},
        {"data.partition.scheme", "homo uniform random", "iid"},
        {"data.partition.scheme", "quantity_skew", "dirichlet_sizes"},
        {"data.partition.scheme", "user users by_user owner owners", "natural"},
        {"data.partition.scheme", "file csv", "from_file"},
        {"model.name", "cnn convnet", "", "convolutional models: mnist_cnn, cnn_m and mcmahan_cnn"},
        {"model.name", "2nn nn dnn ann", "mlp"},
        {"model.name", "logistic logistic_regression softmax softmax_regression logreg", "lr"},
        {"model.name", "rnn", "char_lstm"},
        {"model.name",
         "resnet34 resnet50 resnet56 resnet101 resnet110 vgg vgg11 vgg16 mobilenet mobilenet_v2 densenet efficientnet vit bert",
         "", kExported, "model: {file: net.pt2}"},
        {"training.optimizer.name", "momentum", "sgd"},
        {"training.lr_schedule.name", "exponential exponential_lr step_lr multistep", "step"},
        {"training.lr_schedule.name", "none fixed", "constant"},
        {"training.precision", "fp32 float float32 single", "f32"},
        {"training.precision", "fp16 float16 half amp bfloat16 mixed", "bf16"},
        {"strategy.name", "fedbn", "", "FedBN is", R"(model: {local: ["bn*"]}; docs/models.md)"},
        {"strategy.name", "fedper", "", "FedPer is", R"(model: {local: ["fc*"]}; docs/models.md)"},
        {"strategy.name", "lg_fedavg lg", "", "LG-FedAvg is", R"(model: {local: ["conv*"]}; docs/models.md)"},
        {"strategy.name", "fedbuff", "", "FedBuff is", "mode: {name: semi_async, quorum: 10}; docs/modes.md"},
        {"strategy.name", "fedasync", "", "FedAsync is", "mode: {name: async}; docs/modes.md"},
        {"strategy.name", "dp_fedavg dp", "", "for DP-FedAvg write strategy: {name: fedavg, weighting: uniform} and",
         "upload: [{name: clip, norm: 1}, {name: gaussian_noise, multiplier: 1}]; docs/strategies.md"},
        {"strategy.name", "qsgd fedpaq", "", "QSGD is", "upload: [{name: quantize}]; docs/strategies.md"},
        {"strategy.name", "sign_sgd", "", "signs are", "upload: [{name: sign}]; docs/strategies.md"},
        {"strategy.name", "topk", "", "for the largest values write", "upload: [{name: top_k}]; docs/strategies.md"},
        {"strategy.name", "multi_krum", "",
         "for Multi-Krum use krum with chosen above 1:", "strategy: {name: krum, chosen: 3}"},
        {"strategy.name", "fedopt", "", "FedOpt's strategies: fedadam, fedyogi and fedadagrad"},
        {"strategy.name", "split_fed split_nn split_learning", "", "for split models write",
         "mode: {name: split, cut: LAYER}; docs/modes.md"},
        {"strategy.aggregator", "fedavg average avg weighted_average weighted_mean", "mean"},
        {"strategy.weighting", "samples size data_size num_examples weighted", "examples"},
        {"strategy.weighting", "equal average mean none", "uniform"},
        {"upload.name", "qsgd", "quantize"},
        {"upload.name", "half float16 f16 half_precision", "fp16"},
        {"upload.name", "ternary", "terngrad"},
        {"upload.name", "sparse_ternary sparse_ternary_compression", "stc"},
        {"upload.name", "laplace ldp local_dp laplacian", "laplace_noise"},
        {"upload.name", "priv_unit2 privunit2 duchi", "priv_unit"},
        {"upload.name", "hadamard rotation", "drive"},
        {"upload.name", "randk", "random_k"},
        {"upload.name", "sparsify sparsification", "top_k"},
        {"upload.name", "ef residual", "error_feedback"},
        {"upload.name", "noise dp", "gaussian_noise"},
        {"upload.name", "scaling scale model_replacement boosting", "scaled_update"},
        {"attack.name", "lie little a_little_is_enough little_is_enough", "alie"},
        {"attack.name", "ipm inner_product_manipulation", "inner_product"},
        {"attack.name", "sign_flip sign_flipping", "", "for attackers that see only their own update write",
         "upload: [{name: sign_flip}]; docs/strategies.md"},
        {"mode.name", "sync", "synchronous"},
        {"mode.name", "mode asynchronous fedasync", "async"},
        {"mode.name", "fedbuff buffered", "semi_async"},
        {"mode.name", "ddp all_reduce distributed_data_parallel", "gradient_averaging"},
        {"mode.name", "ps", "parameter_server"},
        {"mode.name", "split_fed split_nn split_learning", "split"},
        {"failures.policy", "ignore skip continue", "drop"},
        {"failures.policy", "fail raise stop error", "abort"}};
    return rows;
}

}  // namespace fedhive::sim
