// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {TokenTransfer} from "./TokenTransfer.sol";

interface IReceiving {
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;
}

/// @notice Collects deposits by transfer authorizations (ERC-3009) for the channel contract, for tests. The authorization's nonce
/// is the hash of the channel's id and a salt, so that no other channel can be funded with it.
contract Erc3009Collector {
    /// @notice The channel contract, the only caller of `collect`.
    address public constant x402BatchSettlement = 0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003;

    error OnlyX402BatchSettlement();

    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata collectorData)
        external
    {
        if (msg.sender != x402BatchSettlement) revert OnlyX402BatchSettlement();
        (uint256 validAfter, uint256 validBefore, uint256 salt, bytes memory signature) =
            abi.decode(collectorData, (uint256, uint256, uint256, bytes));
        bytes32 nonce = keccak256(abi.encode(channelId, salt));
        IReceiving(token).receiveWithAuthorization(
            payer, address(this), amount, validAfter, validBefore, nonce, signature
        );
        TokenTransfer.send(token, x402BatchSettlement, amount);
    }
}
