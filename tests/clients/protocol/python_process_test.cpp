#include "clients/protocol/python_process.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

/// Sets a variable of the environment, or takes it away, until the end.
class Variable {
public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* before = std::getenv(name); before != nullptr) before_ = before;
        if (value != nullptr)
            setenv(name, value, 1);
        else
            unsetenv(name);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() {
        if (before_)
            setenv(name_, before_->c_str(), 1);
        else
            unsetenv(name_);
    }

private:
    const char* name_;
    std::optional<std::string> before_;
};

std::string value_of(const SpawnOptions& options, const std::string& name) {
    const auto found = std::ranges::find(options.environment, name, [](const auto& variable) { return variable.first; });
    return found == options.environment.end() ? "not set" : found->second;
}

}  // namespace

TEST_SUITE_BEGIN("PythonProcess");

TEST_CASE("WhatPythonCompilesIsKeptInTheCache") {
    const Variable prefix("PYTHONPYCACHEPREFIX", nullptr), cache("XDG_CACHE_HOME", "/somewhere");
    CHECK_EQ(value_of(python_module("fedhive.method", {}), "PYTHONPYCACHEPREFIX"), "/somewhere/fedhive/pycache");
    const Variable own("PYTHONPYCACHEPREFIX", "/elsewhere");
    CHECK_EQ(value_of(python_module("fedhive.method", {}), "PYTHONPYCACHEPREFIX"), "/elsewhere");
}

TEST_CASE("WithoutACachePythonWritesNothingBesideTheSources") {
    const Variable prefix("PYTHONPYCACHEPREFIX", nullptr), cache("XDG_CACHE_HOME", nullptr), home("HOME", nullptr);
    const SpawnOptions options = python_module("fedhive.method", {});
    CHECK_EQ(value_of(options, "PYTHONPYCACHEPREFIX"), "not set");
    CHECK_EQ(value_of(options, "PYTHONDONTWRITEBYTECODE"), "1");
}

TEST_SUITE_END();
