// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice Ends the validity of a user operation, and carries the tag of its payment. Most accounts sign no end of validity, and
/// many use the nonce's key for themselves; a call of this contract beside the transfer adds both to any account that can make
/// two calls, because after `validBefore` the whole execution reverts. It has no owner and no state.
contract PaymentGuard {
    /// @notice The payment's validity is over.
    error Expired(uint256 validBefore);

    /// @notice Reverts from the second `validBefore` on. The tag is a part of what the payer has signed.
    function check(uint256 validBefore, bytes32) external view {
        if (block.timestamp >= validBefore) revert Expired(validBefore);
    }
}
