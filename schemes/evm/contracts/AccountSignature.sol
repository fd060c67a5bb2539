// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC1271} from "./IERC1271.sol";

/// @notice Decides whether a signature belongs to an account. An account without code is held to strict ECDSA; an account
/// with code, which includes an account delegated by EIP-7702, is asked through ERC-1271 only.
library AccountSignature {
    /// @dev Half of the order of secp256k1. A larger `s` is the malleated twin of a valid signature.
    uint256 private constant HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    function isValid(address account, bytes32 digest, bytes memory signature) internal view returns (bool) {
        if (account.code.length == 0) return recover(digest, signature) == account;
        return isValidErc1271(account, digest, signature);
    }

    function isValidErc1271(address account, bytes32 digest, bytes memory signature) private view returns (bool) {
        (bool success, bytes memory answer) =
            account.staticcall(abi.encodeCall(IERC1271.isValidSignature, (digest, signature)));
        if (!success || answer.length < 32) return false;
        return abi.decode(answer, (bytes32)) == bytes32(IERC1271.isValidSignature.selector);
    }

    function recover(bytes32 digest, bytes memory signature) internal pure returns (address signer) {
        require(signature.length == 65, "ECRecover: invalid signature length");
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly ("memory-safe") {
            r := mload(add(signature, 32))
            s := mload(add(signature, 64))
            v := byte(0, mload(add(signature, 96)))
        }
        require(uint256(s) <= HALF_ORDER, "ECRecover: invalid signature 's' value");
        require(v == 27 || v == 28, "ECRecover: invalid signature 'v' value");
        signer = ecrecover(digest, v, r, s);
        require(signer != address(0), "ECRecover: invalid signature");
    }
}
