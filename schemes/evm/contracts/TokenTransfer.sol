// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice Transfers of tokens that return `true`, or nothing at all.
library TokenTransfer {
    /// @notice The token did not transfer: it returned something else than `true`, or has no code.
    error SafeERC20FailedOperation(address token);

    /// @notice Transfers, or reverts with the token's own reason where it has one.
    function send(address token, address to, uint256 value) internal {
        (bool success, bytes memory answer) =
            token.call(abi.encodeWithSignature("transfer(address,uint256)", to, value));
        if (!success && answer.length > 0) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
        bool isAccepted = answer.length == 0 ? token.code.length > 0 : abi.decode(answer, (uint256)) == 1;
        if (!success || !isAccepted) revert SafeERC20FailedOperation(token);
    }
}
