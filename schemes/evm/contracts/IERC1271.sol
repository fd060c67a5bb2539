// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice How a contract account says whether a signature is its own (ERC-1271).
interface IERC1271 {
    /// @return magic The function's own selector, 0x1626ba7e, if `signature` over `hash` is valid.
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4 magic);
}
