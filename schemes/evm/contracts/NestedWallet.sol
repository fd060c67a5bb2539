// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {AccountSignature} from "./AccountSignature.sol";
import {IERC1271} from "./IERC1271.sol";

/// @notice A contract account whose owner may be a contract account too, which is then asked (ERC-1271).
contract NestedWallet is IERC1271 {
    address public immutable owner;

    constructor(address walletOwner) {
        owner = walletOwner;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        return AccountSignature.isValid(owner, hash, signature) ? this.isValidSignature.selector : bytes4(0xffffffff);
    }
}
