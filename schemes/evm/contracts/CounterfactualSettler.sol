// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice Deploys a payer's account where it is missing, and submits the payer's transfer, in one transaction (ERC-6492). It
/// has no owner, no state and holds nothing, so a factory that is called from it can take nothing.
///
/// An account that exists already, because anybody may have deployed it a moment ago, is not deployed again: a colliding
/// CREATE2 burns all the gas that it is given.
contract CounterfactualSettler {
    /// @notice The most gas that a factory may use.
    uint256 public constant FACTORY_GAS = 500_000;

    /// @notice The factory has deployed no account at the payer's address. Nothing was settled.
    error NotDeployed();

    /// @notice The gas left does not cover the factory's. Nothing was settled.
    error GasTooLow();

    /// @dev The longest reason of a token that is passed on; a longer one is cut.
    uint256 private constant LONGEST_REASON = 260;

    /// @notice Deploys `payer` by `factory` where it is missing, and calls `token` with `transfer`. A token that reverts
    /// reverts everything, with the token's reason.
    function settle(
        address payer,
        address factory,
        bytes calldata factoryData,
        address token,
        bytes calldata transfer
    ) external {
        _deploy(payer, factory, factoryData);
        assembly ("memory-safe") {
            let data := mload(0x40)
            calldatacopy(data, transfer.offset, transfer.length)
            if iszero(call(gas(), token, 0, data, transfer.length, 0, 0)) {
                let size := returndatasize()
                if gt(size, LONGEST_REASON) { size := LONGEST_REASON }
                returndatacopy(data, 0, size)
                revert(data, size)
            }
        }
    }

    /// @notice The code that `payer` has once `factory` has deployed it; for simulations.
    function deploy(address payer, address factory, bytes calldata factoryData) external returns (bytes memory) {
        _deploy(payer, factory, factoryData);
        return payer.code;
    }

    function _deploy(address payer, address factory, bytes calldata factoryData) private {
        if (payer.code.length != 0) return;
        if (gasleft() < FACTORY_GAS + FACTORY_GAS / 32) revert GasTooLow();
        assembly ("memory-safe") {
            let data := mload(0x40)
            calldatacopy(data, factoryData.offset, factoryData.length)
            pop(call(FACTORY_GAS, factory, 0, data, factoryData.length, 0, 0))
        }
        if (payer.code.length == 0) revert NotDeployed();
    }
}
