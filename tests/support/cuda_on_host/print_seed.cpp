// Prints the seed of the threads' order for each failed test case.
#include "tests/support/cuda_on_host/control.h"

#include <doctest/doctest.h>

#include <iostream>

namespace {

struct PrintSeed : doctest::IReporter {
    explicit PrintSeed(const doctest::ContextOptions& /*options*/) {}
    void test_case_end(const doctest::CurrentTestCaseStats& result) override {
        if (result.failure_flags != 0) std::cout << "CUDA_ON_HOST_SEED=" << cuda_on_host::first_seed() << std::endl;
    }
    void report_query(const doctest::QueryData& /*query*/) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats& /*result*/) override {}
    void test_case_start(const doctest::TestCaseData& /*test*/) override {}
    void test_case_reenter(const doctest::TestCaseData& /*test*/) override {}
    void test_case_exception(const doctest::TestCaseException& /*thrown*/) override {}
    void subcase_start(const doctest::SubcaseSignature& /*subcase*/) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData& /*assertion*/) override {}
    void log_message(const doctest::MessageData& /*message*/) override {}
    void test_case_skipped(const doctest::TestCaseData& /*test*/) override {}
};

REGISTER_LISTENER("print_seed", 1, PrintSeed);

}  // namespace
