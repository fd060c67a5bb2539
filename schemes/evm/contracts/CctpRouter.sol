// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Route} from "./IRouter.sol";
import {RoutedPayment} from "./RoutedPayment.sol";

interface ITokenMessengerV2 {
    function depositForBurn(
        uint256 amount,
        uint32 destinationDomain,
        bytes32 mintRecipient,
        address burnToken,
        bytes32 destinationCaller,
        uint256 maxFee,
        uint32 minFinalityThreshold
    ) external;
}

/// @notice Sends a payer's dollars to another chain over Circle's CCTP v2: their issuer burns them here and makes them there, at
/// least `minimum`. Anybody may deliver the attested message.
contract CctpRouter is RoutedPayment {
    /// @notice CCTP takes no coin: the value would stay here.
    error ValueGiven();

    function _kind() internal pure override returns (uint8) {
        return 2;
    }

    function _send(Route calldata route) internal override returns (bytes32, uint256) {
        if (msg.value != 0) revert ValueGiven();
        _approve(route);
        ITokenMessengerV2(route.bridge).depositForBurn(
            route.amount,
            route.destination,
            route.recipient,
            route.token,
            bytes32(0),
            route.amount - route.minimum,
            abi.decode(route.options, (uint32))
        );
        return (bytes32(0), route.minimum);
    }
}
