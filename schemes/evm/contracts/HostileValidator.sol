// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice A validator of an ERC-7579 account such as Kernel that accepts any signature: always, or only where the gas costs nothing, as in
/// many simulations, and none in a transaction.
contract HostileValidator {
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

    bool private immutable isSteady;

    constructor(bool isSteady_) {
        isSteady = isSteady_;
    }

    function onInstall(bytes calldata) external payable {}

    function onUninstall(bytes calldata) external payable {}

    function isModuleType(uint256 kind) external pure returns (bool) {
        return kind == 1;
    }

    function isValidSignatureWithSender(address, bytes32, bytes calldata) external view returns (bytes4) {
        return _accepts() ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }

    function validateUserOp(PackedUserOperation calldata, bytes32) external payable returns (uint256) {
        return _accepts() ? 0 : 1;
    }

    function _accepts() private view returns (bool) {
        return isSteady || tx.gasprice == 0;
    }
}
