// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice Tries many EIP-3009 transfers in one simulated call. It is never deployed: its constructor tries the runs it is
/// given, in the layout of `BatchSettler`, and returns their outcomes where a contract would return its code.
///
/// An outcome is the byte 1 for a transfer that would succeed, and the byte 2 for a payer with code, whose transfer is not
/// tried: code can distinguish this call from a transaction. Otherwise it is the byte 0, the length of the revert data (2 bytes) and
/// that data; the length is 0 for no data, and for more than `LONGEST` bytes.
contract TransferProbe {
    /// @dev What is left of a lone transfer's 150 000 for the token, after the costs of a transaction and its calldata.
    uint256 private constant ENTRY_GAS = 124_000;
    uint256 private constant LONGEST = 260;

    constructor(bytes memory runs) {
        assembly ("memory-safe") {
            let call_ := mload(0x40)
            let start := add(call_, 320)
            let out := start
            let cursor := add(runs, 32)
            let end := add(cursor, mload(runs))
            mstore(call_, shl(224, 0xe3ee160e))
            for {} lt(cursor, end) {} {
                let head := mload(cursor)
                cursor := add(cursor, 21)
                let runEnd := add(cursor, mul(and(shr(88, head), 0xff), 158))
                for {} lt(cursor, runEnd) { cursor := add(cursor, 158) } {
                    if extcodesize(shr(96, mload(cursor))) {
                        mstore8(out, 2)
                        out := add(out, 1)
                        continue
                    }
                    let sv := mload(add(cursor, 126))
                    mstore(add(call_, 4), shr(96, mload(cursor)))
                    mstore(add(call_, 36), shr(96, mload(add(cursor, 20))))
                    mstore(add(call_, 68), shr(160, mload(add(cursor, 40))))
                    mstore(add(call_, 100), shr(216, mload(add(cursor, 52))))
                    mstore(add(call_, 132), shr(216, mload(add(cursor, 57))))
                    mstore(add(call_, 164), mload(add(cursor, 62)))
                    mstore(add(call_, 196), add(27, shr(255, sv)))
                    mstore(add(call_, 228), mload(add(cursor, 94)))
                    mstore(add(call_, 260), shr(1, shl(1, sv)))
                    switch call(ENTRY_GAS, shr(96, head), 0, call_, 292, 0, 0)
                    case 0 {
                        let size := returndatasize()
                        if gt(size, LONGEST) { size := 0 }
                        mstore(out, shl(232, size))
                        returndatacopy(add(out, 3), 0, size)
                        out := add(out, add(3, size))
                    }
                    default {
                        mstore8(out, 1)
                        out := add(out, 1)
                    }
                }
            }
            return(start, sub(out, start))
        }
    }
}
