// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {AccountSignature} from "./AccountSignature.sol";
import {IERC1271} from "./IERC1271.sol";

/// @notice The smallest contract account: a signature is its own if its owner's key made it (ERC-1271).
contract Erc1271Wallet is IERC1271 {
    address public immutable owner;

    constructor(address walletOwner) {
        owner = walletOwner;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        return AccountSignature.recover(hash, signature) == owner ? this.isValidSignature.selector : bytes4(0xffffffff);
    }
}
