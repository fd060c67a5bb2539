// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {TronDollar} from "./TronDollar.sol";

/// @notice A token whose transfers move the money without an event.
contract TronSilentToken is TronDollar {
    function _move(address from, address to, uint256 value) internal override {
        require(_balances[from] >= value, "insufficient balance");
        _balances[from] -= value;
        _balances[to] += value;
    }
}
