// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice An account of ERC-4337 that accepts any signature and misbehaves: 0 not at all; it validates only 1 at a gas price of
/// nothing, 2 where the block's producer is another than `fact`, 3 up to the block `fact`, 4 up to the time `fact`; 5 it burns
/// the gas left once it has paid; 6 it pays `fact` instead, 7 twice, 8 not at all; 9 it returns 100 000 bytes; 10 it pays by its own
/// transfer authorization of the nonce `fact` (EIP-3009).
contract SwayingAccount {
    struct PackedUserOperation {
        address sender;
        uint256 nonce;
        bytes initCode;
        bytes callData;
        bytes32 accountGasLimits;
        uint256 preVerificationGas;
        bytes32 gasFees;
        bytes paymasterAndData;
        bytes signature;
    }

    struct Call {
        address target;
        uint256 value;
        bytes data;
    }

    uint256 private immutable mode;
    uint256 private immutable fact;

    constructor(uint256 mode_, uint256 fact_) {
        mode = mode_;
        fact = fact_;
    }

    function validateUserOp(PackedUserOperation calldata, bytes32, uint256) external view returns (uint256) {
        if (mode == 1 && tx.gasprice != 0) return 1;
        if (mode == 2 && block.coinbase == address(uint160(fact))) return 1;
        if (mode == 3 && block.number > fact) return 1;
        if (mode == 4 && block.timestamp > fact) return 1;
        return 0;
    }

    function executeBatch(Call[] calldata calls) external {
        if (mode == 8) return;
        if (mode == 10) return _authorized(calls[1].target, calls[1].data);
        for (uint256 i = 0; i < calls.length; i++) {
            bytes memory data = calls[i].data;
            if (mode == 6 && i == 1) {
                uint256 thief = fact;
                assembly ("memory-safe") {
                    mstore(add(data, 36), thief)
                }
            }
            _call(calls[i].target, data);
            if (mode == 7 && i == 1) _call(calls[i].target, data);
        }
        if (mode == 5) for (uint256 i = 0; gasleft() > 500; i++) {}
        if (mode == 9) {
            assembly {
                return(0, 100000)
            }
        }
    }

    /// @dev Any signature is valid (ERC-1271).
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        return this.isValidSignature.selector;
    }

    /// @dev transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)
    function _authorized(address token, bytes calldata transfer) private {
        (address to, uint256 value) = abi.decode(transfer[4:], (address, uint256));
        _call(
            token,
            abi.encodeWithSelector(
                0xcf092995, address(this), to, value, 0, type(uint40).max, bytes32(fact), hex"1234"
            )
        );
    }

    function _call(address target, bytes memory data) private {
        (bool ok,) = target.call(data);
        require(ok);
    }
}
