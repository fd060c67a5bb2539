// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice Settles many transfers by Permit2 in one transaction through the proxy of x402, each on its own terms, and before them
/// what another settler settles. It has no owner, no state and holds nothing: whoever calls it can only submit what payers have
/// signed.
///
/// `runs` is a sequence of runs. A run is a token (20 bytes), the number of its entries (1 byte), and that many entries of
/// 158 bytes each: owner (20), to (20), amount (12), validAfter (5), deadline (5), nonce (32), r (32), and s (32) with the
/// recovery id in its highest bit (EIP-2098).
///
/// An entry that fails changes nothing for the others: it gets at most `ENTRY_GAS`, its return data is not copied,
/// and the call as a whole reverts where the gas left would not give the next entries theirs.
contract PermitSettler {
    /// @notice The gas that the transfer of one entry may use.
    uint256 public constant ENTRY_GAS = 210_000;

    /// @notice The gas that must be left for each entry: its own, the 64th part that a call leaves behind, and the work of
    /// reading, calling and logging.
    uint256 public constant ENTRY_RESERVE = 219_000;

    /// @notice An entry is settled. Permit2 logs no nonce, so this names it: right behind the events of the token and the proxy.
    event Submitted(address indexed owner, uint256 indexed nonce);

    /// @notice The gas left does not cover the entries left. Nothing was settled.
    error GasTooLow();

    /// @notice The bytes are no sequence of runs. Nothing was settled.
    error RunsMalformed();

    /// @notice The other settler has failed. Nothing was settled.
    error OtherFailed();

    uint256 private constant HEAD_BYTES = 21;
    uint256 private constant ENTRY_BYTES = 158;
    /// @dev x402ExactPermit2Proxy, at the same address on every chain.
    address private constant PROXY = 0x402085c248EeA27D92E8b30b2C58ed07f9E20001;

    /// @notice An EntryPoint sends the caller of its bundle what the operations pay for: nothing.
    receive() external payable {
        if (msg.value != 0) revert OtherFailed();
    }

    /// @notice Calls `other` with `call_`, where that is not empty, and then settles the entries in `runs`.
    function settle(address other, bytes calldata call_, bytes calldata runs) external {
        if (call_.length != 0) _call(other, call_);
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

    function _call(address other, bytes calldata call_) private {
        bool ok;
        assembly ("memory-safe") {
            let data := mload(0x40)
            calldatacopy(data, call_.offset, call_.length)
            ok := call(gas(), other, 0, data, call_.length, 0, 0)
        }
        if (!ok) revert OtherFailed();
    }

    /// @dev settle(((address,uint256),uint256,uint256),address,(address,uint256),bytes)
    function _transfer(uint256 token, uint256 cursor) private {
        bytes32 topic = Submitted.selector;
        assembly ("memory-safe") {
            let call_ := mload(0x40)
            let owner := shr(96, calldataload(cursor))
            let nonce := calldataload(add(cursor, 62))
            mstore(call_, shl(224, 0x13cd3b53))
            mstore(add(call_, 4), token)
            mstore(add(call_, 36), shr(160, calldataload(add(cursor, 40))))
            mstore(add(call_, 68), nonce)
            mstore(add(call_, 100), shr(216, calldataload(add(cursor, 57))))
            mstore(add(call_, 132), owner)
            mstore(add(call_, 164), shr(96, calldataload(add(cursor, 20))))
            mstore(add(call_, 196), shr(216, calldataload(add(cursor, 52))))
            mstore(add(call_, 228), 256)
            mstore(add(call_, 260), 64)
            calldatacopy(add(call_, 292), add(cursor, 94), 64)
            if call(ENTRY_GAS, PROXY, 0, call_, 356, 0, 0) { log3(0, 0, topic, owner, nonce) }
        }
    }
}
