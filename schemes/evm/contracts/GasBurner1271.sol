// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice A hostile payer: asked for its signature it burns all the gas it is given.
contract GasBurner1271 {
    fallback() external {
        assembly ("memory-safe") {
            for {} gt(gas(), 2000) {} {}
            invalid()
        }
    }
}
