// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice Several calls in one, with the functions of Multicall3 that viem and x402's packages read with, for tests.
contract ReadBatch {
    struct Call {
        address target;
        bytes callData;
    }

    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls) external returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            results[i] = _call(calls[i].target, calls[i].callData, !requireSuccess);
        }
    }

    function aggregate3(Call3[] calldata calls) external returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            results[i] = _call(calls[i].target, calls[i].callData, calls[i].allowFailure);
        }
    }

    function _call(address target, bytes calldata data, bool mayFail) private returns (Result memory result) {
        (result.success, result.returnData) = target.call(data);
        require(result.success || mayFail, "Multicall3: call failed");
    }
}
