// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice Submits many user operations (ERC-4337) to their EntryPoints in one transaction, each in a bundle of its own, and
/// before them EIP-3009 transfers through the batch settler. It has no owner, no state and holds nothing: whoever calls it can
/// only submit what payers have signed.
///
/// `runs` is a sequence of runs. A run is an EntryPoint (20 bytes), the number of its entries (1 byte), and that many entries:
/// sender (20), nonce (32), verificationGasLimit (4), callGasLimit (4), the lengths of initCode (2), callData (2) and signature
/// (2), and their bytes. Prices and the paymaster are nothing. For a callData of length 0xffff there are the terms of a guarded
/// payment instead, token (20), payTo (20), amount (12), validBefore (5) and tag (32), whose callData is
/// `executeBatch([guard.check(validBefore, tag), token.transfer(payTo, amount)])`: most of its 580 bytes are zeros.
///
/// An entry that fails changes nothing for the others: its gas is capped, its return data is not copied, and the call as a whole
/// reverts where the gas left would not give an entry its cap.
contract OpSettler {
    /// @notice The gas of the EntryPoint's own work on an entry, beside the limits of the operation itself.
    uint256 public constant OPERATION_GAS = 75_000;

    /// @notice The gas that the EntryPoint may use for each byte of an operation, in its own encoding.
    uint256 public constant BYTE_GAS = 20;

    /// @notice The gas left does not cover the next entry, or the transfers. Nothing was settled.
    error GasTooLow();

    /// @notice The bytes are no sequence of runs. Nothing was settled.
    error RunsMalformed();

    uint256 private constant HEAD_BYTES = 21;
    uint256 private constant ENTRY_BYTES = 66;

    /// @notice Settles `transfers` (the runs of the batch settler), where there are any, and then submits the operations in `runs`,
    /// whose guarded payments call `guard`.
    function settle(address batchSettler, address guard, bytes calldata transfers, bytes calldata runs) external {
        if (transfers.length != 0) _transfer(batchSettler, transfers);
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
                cursor += HEAD_BYTES;
                for (uint256 left = (head >> 88) & 0xff; left != 0; left--) {
                    cursor = _submit(head >> 96, guard, cursor, end);
                }
            }
        }
    }

    /// @dev settle(bytes) of the batch settler. It caps the gas of each entry itself, and fails only as a whole.
    function _transfer(address batchSettler, bytes calldata transfers) private {
        bool ok;
        assembly ("memory-safe") {
            let data := mload(0x40)
            let size := and(add(transfers.length, 31), not(31))
            mstore(data, shl(224, 0xd0322fbf))
            mstore(add(data, 4), 32)
            mstore(add(data, 36), transfers.length)
            calldatacopy(add(data, 68), transfers.offset, transfers.length)
            ok := call(gas(), batchSettler, 0, data, add(68, size), 0, 0)
        }
        if (!ok) revert GasTooLow();
    }

    /// @dev handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address) with one operation.
    function _submit(uint256 entryPoint, address guard, uint256 cursor, uint256 end) private returns (uint256 next) {
        uint256 cap;
        uint256 data;
        uint256 size;
        assembly ("memory-safe") {
            data := mload(0x40)
            let limits := shr(192, calldataload(add(cursor, 52)))
            let lengths := shr(208, calldataload(add(cursor, 60)))
            let operation := add(data, 160)
            mstore(data, 0x765e827f)
            mstore(add(data, 32), 64)
            mstore(add(data, 64), caller())
            mstore(add(data, 96), 1)
            mstore(add(data, 128), 32)
            mstore(operation, shr(96, calldataload(cursor)))
            mstore(add(operation, 32), calldataload(add(cursor, 20)))
            mstore(add(operation, 128), or(shl(128, shr(32, limits)), and(limits, 0xffffffff)))
            mstore(add(operation, 160), 0)
            mstore(add(operation, 192), 0)
            next := add(cursor, ENTRY_BYTES)
            // The dynamic fields in their order: initCode, callData, nothing for the paymaster, and the signature.
            size := 288
            mstore(add(operation, 64), size)
            next, size := field(operation, next, size, shr(32, lengths))
            mstore(add(operation, 96), size)
            switch and(shr(16, lengths), 0xffff)
            case 0xffff { next, size := payment(operation, next, size, guard) }
            default { next, size := field(operation, next, size, and(shr(16, lengths), 0xffff)) }
            mstore(add(operation, 224), size)
            mstore(add(operation, size), 0)
            size := add(size, 32)
            mstore(add(operation, 256), size)
            next, size := field(operation, next, size, and(lengths, 0xffff))
            cap := add(add(add(shr(32, limits), and(limits, 0xffffffff)), OPERATION_GAS), mul(size, BYTE_GAS))

            // Bytes as they are.
            function field(base, from, at, length) -> from_, at_ {
                let begin := add(base, at)
                mstore(begin, length)
                begin := add(begin, 32)
                let padded := and(add(length, 31), not(31))
                if padded { mstore(add(begin, sub(padded, 32)), 0) }
                calldatacopy(begin, from, length)
                from_ := add(from, length)
                at_ := add(add(at, 32), padded)
            }

            // executeBatch((address,uint256,bytes)[]) of check(uint256,bytes32) and transfer(address,uint256).
            function payment(base, from, at, guard_) -> from_, at_ {
                let begin := add(base, at)
                mstore(begin, 580)
                mstore(add(begin, 32), shl(224, 0x34fcd5be))
                mstore(add(begin, 36), 32)
                mstore(add(begin, 68), 2)
                mstore(add(begin, 100), 64)
                mstore(add(begin, 132), 288)
                call_(add(begin, 164), guard_, 0x413bac6d)
                mstore(add(begin, 296), shr(216, calldataload(add(from, 52))))
                mstore(add(begin, 328), calldataload(add(from, 57)))
                call_(add(begin, 388), shr(96, calldataload(from)), 0xa9059cbb)
                mstore(add(begin, 520), shr(96, calldataload(add(from, 20))))
                mstore(add(begin, 552), shr(160, calldataload(add(from, 40))))
                mstore(add(begin, 608), 0)
                from_ := add(from, 89)
                at_ := add(at, 640)
            }

            // A call with a selector and two words, without coin; the words follow at 132, and 28 zero bytes at 196.
            function call_(begin, target, selector) {
                mstore(begin, target)
                mstore(add(begin, 32), 0)
                mstore(add(begin, 64), 96)
                mstore(add(begin, 96), 68)
                mstore(add(begin, 128), shl(224, selector))
                mstore(add(begin, 196), 0)
            }
        }
        if (next > end) revert RunsMalformed();
        unchecked {
            uint256 left = gasleft();
            if (left - left / 64 < cap) revert GasTooLow();
        }
        assembly ("memory-safe") {
            pop(call(cap, entryPoint, 0, add(data, 28), add(size, 132), 0, 0))
        }
    }
}
