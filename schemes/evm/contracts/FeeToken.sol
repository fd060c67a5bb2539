// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {DollarToken} from "./DollarToken.sol";

/// @notice A token that keeps one percent of every transfer: the payee receives less than the authorization says.
contract FeeToken is DollarToken {
    constructor(string memory tokenName, string memory tokenSymbol, string memory domainVersion)
        DollarToken(tokenName, tokenSymbol, domainVersion)
    {}

    function _transfer(address from, address to, uint256 value) internal override {
        uint256 fee = value / 100;
        super._transfer(from, to, value - fee);
        super._transfer(from, owner, fee);
    }
}
