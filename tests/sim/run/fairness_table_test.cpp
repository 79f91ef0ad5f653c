#include "sim/run/fairness_table.h"

#include <doctest/doctest.h>

using namespace fedhive::sim;

namespace {

const fedhive::clients::Metric kAccuracy = fedhive::clients::learning_task("classification").main_metric();
const ClientsTest kTwoClients{{{2, 4, 0.5, 0.75, 4.0}, {5, 12, 1.0, 0.25, 12.0}}, {}};

}  // namespace

TEST_SUITE("FairnessTable") {
    TEST_CASE("RowHasWhatItsColumnsSay") {
        CHECK(fairness_csv(kAccuracy).header() ==
              "round,model,clients,examples,accuracy_mean,accuracy_std,accuracy_p10,accuracy_p25,accuracy_p50,accuracy_p75,"
              "accuracy_p90,accuracy_worst_10,accuracy_best_10,accuracy_gini,accuracy_by_examples,loss_mean,loss_by_examples,"
              "accuracy_p20,accuracy_p30,accuracy_p40,accuracy_p60,accuracy_p70,accuracy_p80\n");
        CHECK(fairness_rows(3, kTwoClients, kAccuracy) ==
              "3,global,2,16,0.5,0.25,0.3,0.375,0.5,0.625,0.7,0.25,0.75,0.25,0.375,0.75,0.875,0.35,0.4,0.45,0.55,0.6,0.65\n");
    }

    TEST_CASE("PersonalizedModelsHaveRowsOfTheirOwn") {
        ClientsTest both = kTwoClients;
        both.personalized = {{2, 4, 0.25, 1.0, 4.0}, {5, 12, 0.5, 1.0, 12.0}};
        CHECK(fairness_rows(3, both, kAccuracy) == fairness_rows(3, kTwoClients, kAccuracy) +
                                                       "3,personalized,2,16,1,0,1,1,1,1,1,1,1,0,1,0.375,0.4375,1,1,1,1,1,1\n");
        CHECK(client_table(3, both, kAccuracy) ==
              "round,model,client_id,examples,loss,accuracy\n3,global,2,4,0.5,0.75\n3,global,5,12,1,0.25\n"
              "3,personalized,2,4,0.25,1\n3,personalized,5,12,0.5,1\n");
    }

    TEST_CASE("WhereLowerIsBetterTheWorstTenthHasTheHighestValues") {
        const fedhive::clients::Metric& mse = fedhive::clients::learning_task("regression").main_metric();
        CHECK(fairness_csv(mse).header().starts_with("round,model,clients,examples,mse_mean,mse_std,mse_p10,"));
        CHECK(fairness_rows(3, kTwoClients, mse) ==
              "3,global,2,16,0.5,0.25,0.3,0.375,0.5,0.625,0.7,0.75,0.25,0.25,0.375,0.75,0.875,0.35,0.4,0.45,0.55,0.6,0.65\n");
        CHECK(client_table_name(mse) == "client_mse.csv");
        CHECK(round_of_client_table(client_table(4, kTwoClients, mse), mse) == 4);
        CHECK(round_of_client_table(client_table(4, kTwoClients, mse), kAccuracy) == 0);
    }

    TEST_CASE("NamesOfClientsComeLast") {
        const std::vector<std::string> owners{"a", "b", "Köln, Dom", "d", "e", "the \"Charité\""};
        const std::string table = client_table(3, kTwoClients, kAccuracy, owners);
        CHECK(table ==
              "round,model,client_id,examples,loss,accuracy,owner\n3,global,2,4,0.5,0.75,\"Köln, Dom\"\n"
              "3,global,5,12,1,0.25,\"the \"\"Charité\"\"\"\n");
        CHECK(round_of_client_table(table, kAccuracy) == 3);
    }

    TEST_CASE("TableOfClientsSaysOfWhichRoundItIs") {
        CHECK(round_of_client_table(client_table(17, kTwoClients, kAccuracy), kAccuracy) == 17);
        CHECK(round_of_client_table("", kAccuracy) == 0);
        CHECK(round_of_client_table("17,global,2,4,0.5,0.75\n", kAccuracy) == 0);
    }
}
