// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {AccountSignature} from "./AccountSignature.sol";
import {IERC1271} from "./IERC1271.sol";

/// @notice Code for an account to delegate to by EIP-7702: the account goes on accepting the signatures of its own key.
contract Delegate7702 is IERC1271 {
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        bool own = AccountSignature.recover(hash, signature) == address(this);
        return own ? this.isValidSignature.selector : bytes4(0xffffffff);
    }

    /// @dev A delegated account still receives the chain's coin.
    receive() external payable {}
}
