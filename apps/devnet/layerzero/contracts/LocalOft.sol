// SPDX-License-Identifier: MIT
pragma solidity ^0.8.22;

import {OFT} from "@layerzerolabs/oft-evm/contracts/OFT.sol";
import {OFTAdapter} from "@layerzerolabs/oft-evm/contracts/OFTAdapter.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @notice A token that is its own OFT, as dollars over LayerZero are on most chains.
contract LocalOft is OFT {
    constructor(address endpoint, address owner) OFT("Test Dollar over LayerZero", "TUSD0", endpoint, owner) Ownable(owner) {}

    function decimals() public pure override returns (uint8) {
        return 6;
    }
}

/// @notice The lockbox of a token that exists already.
contract LocalLockbox is OFTAdapter {
    constructor(address token, address endpoint, address owner) OFTAdapter(token, endpoint, owner) Ownable(owner) {}
}
