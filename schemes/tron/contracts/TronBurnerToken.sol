// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {TronDollar} from "./TronDollar.sol";

/// @notice A token whose owner sets the energy of a transfer, by a number of additional storage writes.
contract TronBurnerToken is TronDollar {
    uint256 public writes;
    mapping(uint256 => uint256) public burnt;

    function setWrites(uint256 count) external onlyOwner {
        writes = count;
    }

    function _move(address from, address to, uint256 value) internal override {
        for (uint256 index = 0; index < writes; index++) burnt[index] += 1;
        super._move(from, to, value);
    }
}
