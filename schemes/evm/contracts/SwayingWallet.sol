// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC1271} from "./IERC1271.sol";

/// @notice A hostile payer: it accepts any signature where it takes the execution for a simulation, and none in a transaction.
contract SwayingWallet is IERC1271 {
    enum Sign {
        GasPrice,
        BlockNumber,
        Origin,
        Coinbase,
        Timestamp
    }

    Sign public immutable sign;
    uint256 public immutable expected;

    constructor(Sign lookedAt, uint256 expectedValue) {
        sign = lookedAt;
        expected = expectedValue;
    }

    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        return seen() ? this.isValidSignature.selector : bytes4(0xffffffff);
    }

    /// @dev A gas price of zero, a block up to one, an origin, a producer, or a time up to one.
    function seen() private view returns (bool) {
        if (sign == Sign.GasPrice) return tx.gasprice == expected;
        if (sign == Sign.BlockNumber) return block.number <= expected;
        if (sign == Sign.Origin) return uint160(tx.origin) == expected;
        if (sign == Sign.Coinbase) return uint160(address(block.coinbase)) == expected;
        return block.timestamp <= expected;
    }
}
