// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {DollarToken} from "./DollarToken.sol";

/// @notice A token that consumes the authorization and returns normally, but moves nothing and emits no Transfer.
contract SilentToken is DollarToken {
    constructor(string memory tokenName, string memory tokenSymbol, string memory domainVersion)
        DollarToken(tokenName, tokenSymbol, domainVersion)
    {}

    function _transfer(address from, address to, uint256 value) internal override {}
}
