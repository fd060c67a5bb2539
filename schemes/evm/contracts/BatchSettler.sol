// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice Settles many EIP-3009 transfer authorizations in one transaction, each on its own terms. It has no owner, no
/// state and holds nothing: whoever calls it can only submit what payers have signed.
///
/// `runs` is a sequence of runs. A run is a token (20 bytes), the number of its entries (1 byte), and that many entries of
/// 158 bytes each: from (20), to (20), value (12), validAfter (5), validBefore (5), nonce (32), r (32), and s (32) with the
/// recovery id in its highest bit (EIP-2098).
///
/// An entry that fails changes nothing for the others: it gets at most `ENTRY_GAS`, its return data is not copied,
/// and the call as a whole reverts where the gas left would not give the next entries theirs.
contract BatchSettler {
    /// @notice The gas that the transfer of one entry may use.
    uint256 public constant ENTRY_GAS = 150_000;

    /// @notice The gas that must be left for each entry: its own, the 64th part that a call leaves behind, and the work of
    /// reading and calling.
    uint256 public constant ENTRY_RESERVE = 156_000;

    /// @notice The gas left does not cover the entries left. Nothing was settled.
    error GasTooLow();

    /// @notice The bytes are no sequence of runs. Nothing was settled.
    error RunsMalformed();

    uint256 private constant HEAD_BYTES = 21;
    uint256 private constant ENTRY_BYTES = 158;

    function settle(bytes calldata runs) external {
        uint256 cursor;
        uint256 end;
        assembly ("memory-safe") {
            cursor := runs.offset
            end := add(cursor, runs.length)
        }
        unchecked {
            while (cursor < end) {
                uint256 head;
                assembly ("memory-safe") {
                    head := calldataload(cursor)
                }
                uint256 count = (head >> 88) & 0xff;
                cursor += HEAD_BYTES;
                uint256 runEnd = cursor + count * ENTRY_BYTES;
                if (runEnd > end) revert RunsMalformed();
                if (gasleft() < count * ENTRY_RESERVE) revert GasTooLow();
                for (; cursor < runEnd; cursor += ENTRY_BYTES) {
                    if (gasleft() < ENTRY_RESERVE) revert GasTooLow();
                    _transfer(head >> 96, cursor);
                }
            }
        }
    }

    /// @dev transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)
    function _transfer(uint256 token, uint256 cursor) private {
        assembly ("memory-safe") {
            let call_ := mload(0x40)
            let sv := calldataload(add(cursor, 126))
            mstore(call_, shl(224, 0xe3ee160e))
            mstore(add(call_, 4), shr(96, calldataload(cursor)))
            mstore(add(call_, 36), shr(96, calldataload(add(cursor, 20))))
            mstore(add(call_, 68), shr(160, calldataload(add(cursor, 40))))
            mstore(add(call_, 100), shr(216, calldataload(add(cursor, 52))))
            mstore(add(call_, 132), shr(216, calldataload(add(cursor, 57))))
            mstore(add(call_, 164), calldataload(add(cursor, 62)))
            mstore(add(call_, 196), add(27, shr(255, sv)))
            mstore(add(call_, 228), calldataload(add(cursor, 94)))
            mstore(add(call_, 260), shr(1, shl(1, sv)))
            pop(call(ENTRY_GAS, token, 0, call_, 292, 0, 0))
        }
    }
}
