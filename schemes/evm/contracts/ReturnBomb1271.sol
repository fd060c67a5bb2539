// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice A hostile payer: asked for its signature it responds with a million bytes, which the caller pays to copy.
contract ReturnBomb1271 {
    fallback() external {
        assembly {
            return(0, 1000000)
        }
    }
}
