// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Route} from "./IRouter.sol";
import {RoutedPayment} from "./RoutedPayment.sol";

struct SendParam {
    uint32 dstEid;
    bytes32 to;
    uint256 amountLD;
    uint256 minAmountLD;
    bytes extraOptions;
    bytes composeMsg;
    bytes oftCmd;
}

struct MessagingFee {
    uint256 nativeFee;
    uint256 lzTokenFee;
}

struct MessagingReceipt {
    bytes32 guid;
    uint64 nonce;
    MessagingFee fee;
}

struct OFTReceipt {
    uint256 amountSentLD;
    uint256 amountReceivedLD;
}

interface IOFT {
    function approvalRequired() external view returns (bool);
    function send(SendParam calldata sending, MessagingFee calldata fee, address refundAddress)
        external
        payable
        returns (MessagingReceipt memory, OFTReceipt memory);
}

/// @notice Sends a payer's money to another chain over LayerZero, by the OFT of its token. What the message costs less than the
/// value goes back to the caller.
contract BridgeRouter is RoutedPayment {
    /// @notice The OFT sends whole units of its own, and `amount` is not a number of them: the rest would stay here.
    error Remainder(uint256 sent);

    function _kind() internal pure override returns (uint8) {
        return 1;
    }

    function _send(Route calldata route) internal override returns (bytes32, uint256) {
        IOFT oft = IOFT(route.bridge);
        if (oft.approvalRequired()) _approve(route);
        (MessagingReceipt memory message, OFTReceipt memory moved) = oft.send{value: msg.value}(
            SendParam(route.destination, route.recipient, route.amount, route.minimum, route.options, "", ""),
            MessagingFee(msg.value, 0),
            msg.sender
        );
        if (moved.amountSentLD != route.amount) revert Remainder(moved.amountSentLD);
        return (message.guid, moved.amountReceivedLD);
    }
}
