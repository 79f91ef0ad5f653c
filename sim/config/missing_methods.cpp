#include "sim/config/missing_methods.h"

namespace fedhive::sim {

namespace {

constexpr const char* kServerTrains = "its server trains a network of its own, and here the server only combines updates";
constexpr const char* kTwoNetworks = "a client has parts or networks beside the model, and here it has one model";
constexpr const char* kOtherShapes = "its clients' models differ in shape, and here all are alike";
constexpr const char* kOthersModels = "a client trains or masks with the other clients' models, which it does not get here";
constexpr const char* kOwnAnswers = "classes are answered by tables in place of the last layer, and here models answer";
constexpr const char* kLevels = "it has servers on several levels or a directed graph, and here there is one server, or a ring";
constexpr const char* kEachGradient = "it needs the gradient of every single example, and here gradients are of batches";
constexpr const char* kChoice = "it chooses clients by what no sampler keeps here";
constexpr const char* kCohortMatrix =
    "it clusters or factors vectors of the cohort; strategy.rule: FILE.py may do so over the updates";

}  // namespace

const std::map<std::string, MissingMethod>& missing_methods() {
    static const std::map<std::string, MissingMethod> methods = {
        {"adcol", {"ADCOL: Li et al. 2023 (ICML)", kServerTrains}},
        {"apple", {"APPLE: Luo and Wu 2022 (arXiv:2110.08394)", kOthersModels}},
        {"ccvr", {"CCVR: Luo et al. 2021 (arXiv:2106.05001)", kServerTrains}},
        {"dbe",
         {"DBE: Zhang et al. 2023 (arXiv:2311.14975)",
          "it adds a vector of the client's to the features that the last layer gets, and here losses only read features"}},
        {"dense", {"DENSE: Zhang et al. 2022 (arXiv:2112.12371)", kServerTrains}},
        {"depthfl", {"DepthFL: Kim et al. 2023 (ICLR)", kOtherShapes}},
        {"divfl", {"DivFL: Balakrishnan et al. 2022 (arXiv:2107.11728)", kChoice}},
        {"dp_sgd", {"DP-SGD: Abadi et al. 2016 (arXiv:1607.00133)", kEachGradient}},
        {"fedas",
         {"FedAS: Yang et al. 2024 (CVPR)", "it measures the squared gradients of single examples and trains in two phases"}},
        {"fedat", {"FedAT: Chai et al. 2021 (arXiv:2010.05958)", kLevels}},
        {"fedaws",
         {"FedAwS: Yu et al. 2020 (arXiv:2004.10342)",
          "its server moves the rows of the last layer apart, and formulas know no rows"}},
        {"fedcac", {"FedCAC: Wu et al. 2023 (arXiv:2309.11103)", kOthersModels}},
        {"fedcor", {"FedCor: Tang et al. 2022 (arXiv:2103.13822)", kChoice}},
        {"fedcp", {"FedCP: Zhang et al. 2023 (arXiv:2307.01217)", kTwoNetworks}},
        {"feddf", {"FedDF: Lin et al. 2020 (arXiv:2006.07242)", kServerTrains}},
        {"fedetf", {"FedETF: Li et al. 2023 (arXiv:2303.10058)", kOwnAnswers}},
        {"fedftg", {"FedFTG: Zhang et al. 2022 (arXiv:2203.09249)", kServerTrains}},
        {"fedgen", {"FedGen: Zhu et al. 2021 (arXiv:2105.10056)", kServerTrains}},
        {"fedgh", {"FedGH: Yi et al. 2023 (arXiv:2303.13137)", kServerTrains}},
        {"fedgkt", {"FedGKT: He et al. 2020 (arXiv:2007.14513)", kServerTrains}},
        {"fedkd", {"FedKD: Wu et al. 2022 (arXiv:2108.13323)", kTwoNetworks}},
        {"fedma", {"FedMA: Wang et al. 2020 (arXiv:2002.06440)", kOtherShapes}},
        {"fedmd", {"FedMD: Li and Wang 2019 (arXiv:1910.03581)", kOtherShapes}},
        {"fedmix",
         {"FedMix: Yoon et al. 2021 (arXiv:2107.00233)",
          "clients train on means of others' examples, which do not travel here"}},
        {"fednh", {"FedNH: Dai et al. 2023 (arXiv:2212.02758)", kOwnAnswers}},
        {"fedpac", {"FedPAC: Xu et al. 2023 (arXiv:2306.11867)", kOthersModels}},
        {"fedpcl", {"FedPCL: Tan et al. 2022 (arXiv:2209.10083)", kTwoNetworks}},
        {"fedrod", {"FedRoD: Chen and Chao 2022 (arXiv:2107.00778)", kTwoNetworks}},
        {"fedrolex", {"FedRolex: Alam et al. 2022 (arXiv:2212.01548)", kOtherShapes}},
        {"fedsr", {"FedSR: Nguyen et al. 2022 (NeurIPS)", kTwoNetworks}},
        {"fedtgp", {"FedTGP: Zhang et al. 2024 (arXiv:2401.03230)", kServerTrains}},
        {"fjord", {"FjORD: Horváth et al. 2021 (arXiv:2102.13451)", kOtherShapes}},
        {"flame", {"FLAME: Nguyen et al. 2022 (arXiv:2101.02281)", kCohortMatrix}},
        {"fml", {"FML: Shen et al. 2020 (arXiv:2006.16765)", kTwoNetworks}},
        {"gpfl", {"GPFL: Zhang et al. 2023 (arXiv:2308.10279)", kTwoNetworks}},
        {"heterofl", {"HeteroFL: Diao et al. 2021 (arXiv:2010.01264)", kOtherShapes}},
        {"hierfavg", {"HierFAVG: Liu et al. 2020 (arXiv:1905.06641)", kLevels}},
        {"knn_per", {"kNN-Per: Marfoq et al. 2022 (arXiv:2111.09360)", kOwnAnswers}},
        {"pacfl", {"PACFL: Vahidian et al. 2023 (arXiv:2209.10526)", kCohortMatrix}},
        {"pfedhn", {"pFedHN: Shamsian et al. 2021 (arXiv:2103.04628)", kServerTrains}},
        {"powersgd", {"PowerSGD: Vogels et al. 2019 (arXiv:1905.13727)", "no step of `upload` takes a low rank of a tensor"}},
        {"secagg",
         {"SecAgg: Bonawitz et al. 2017 (CCS)",
          "its sums are encrypted, which changes only the rounding of a simulated result"}},
        {"sub_fedavg", {"Sub-FedAvg: Vahidian et al. 2021 (arXiv:2105.00562)", kOtherShapes}},
        {"superfed",
         {"SuPerFed: Hahn et al. 2022 (arXiv:2109.07628)", "it draws a mixture in each step, and formulas draw nothing"}},
        {"tifl", {"TiFL: Chai et al. 2020 (arXiv:2001.09249)", kChoice}},
    };
    return methods;
}

}  // namespace fedhive::sim
