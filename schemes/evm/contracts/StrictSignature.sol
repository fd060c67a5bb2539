// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC1271} from "./IERC1271.sol";

/// @notice Signatures as the channel contract accepts them: one form of a plain account's, and ERC-1271 for accounts with code.
/// The errors of `recover` are those that OpenZeppelin's `ECDSA` reverts with.
library StrictSignature {
    error ECDSAInvalidSignature();
    error ECDSAInvalidSignatureLength(uint256 length);
    error ECDSAInvalidSignatureS(bytes32 s);

    /// @dev Half of the order of secp256k1. A larger `s` is the malleated twin of a valid signature.
    uint256 private constant HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    /// @notice The account whose key signed the digest; reverts where the signature is not in its one form, or of no key.
    function recover(bytes32 digest, bytes calldata signature) internal pure returns (address signer) {
        if (signature.length != 65) revert ECDSAInvalidSignatureLength(signature.length);
        bytes32 s = bytes32(signature[32:64]);
        if (uint256(s) > HALF_ORDER) revert ECDSAInvalidSignatureS(s);
        signer = ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), s);
        if (signer == address(0)) revert ECDSAInvalidSignature();
    }

    /// @notice Whether the account accepts the signature: its own key's without code, ERC-1271 with code. Never reverts.
    function isValid(address account, bytes32 digest, bytes calldata signature) internal view returns (bool) {
        if (account.code.length > 0) {
            (bool success, bytes memory answer) =
                account.staticcall(abi.encodeCall(IERC1271.isValidSignature, (digest, signature)));
            return success && answer.length >= 32
                && abi.decode(answer, (bytes32)) == bytes32(IERC1271.isValidSignature.selector);
        }
        if (signature.length != 65 || uint256(bytes32(signature[32:64])) > HALF_ORDER) return false;
        address signer =
            ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
        return signer != address(0) && signer == account;
    }
}
