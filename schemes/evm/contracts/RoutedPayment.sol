// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IRouter, Route} from "./IRouter.sol";

interface IAuthorizedToken {
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;

    function transfer(address to, uint256 value) external returns (bool);
    function approve(address spender, uint256 value) external returns (bool);
}

/// @notice What both routers share. It has no owner and no state, and holds nothing between calls; its address is the same on
/// every chain, because token and bridge are parts of the route.
abstract contract RoutedPayment is IRouter {
    /// @notice The token returned false.
    error TokenRefused();

    function nonceOf(Route calldata route) public view returns (bytes32) {
        bytes32 hash = keccak256(
            abi.encode(
                block.chainid,
                address(this),
                _kind(),
                route.token,
                route.bridge,
                route.destination,
                route.recipient,
                route.amount,
                route.minimum,
                route.fee,
                route.feeRecipient,
                keccak256(route.options),
                route.tag
            )
        );
        return bytes32(bytes24(hash));
    }

    function pay(address from, uint256 validAfter, uint256 validBefore, bytes calldata signature, Route calldata route)
        external
        payable
    {
        bytes32 nonce = nonceOf(route);
        _take(from, validAfter, validBefore, nonce, signature, route);
        if (route.fee != 0) _done(IAuthorizedToken(route.token).transfer(route.feeRecipient, route.fee));
        (bytes32 message, uint256 arriving) = _send(route);
        emit Bridged(from, nonce, message, arriving);
    }

    /// @dev A signature of 65 bytes goes by its parts: every token with authorizations has that function. Others are of accounts
    /// with code (ERC-1271).
    function _take(
        address from,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature,
        Route calldata route
    ) private {
        IAuthorizedToken token = IAuthorizedToken(route.token);
        uint256 value = route.amount + route.fee;
        if (signature.length == 65) {
            token.receiveWithAuthorization(
                from,
                address(this),
                value,
                validAfter,
                validBefore,
                nonce,
                uint8(signature[64]),
                bytes32(signature[:32]),
                bytes32(signature[32:64])
            );
        } else {
            token.receiveWithAuthorization(from, address(this), value, validAfter, validBefore, nonce, signature);
        }
    }

    /// @dev Lets the bridge take exactly the amount: nothing of the allowance is left once it has.
    function _approve(Route calldata route) internal {
        _done(IAuthorizedToken(route.token).approve(route.bridge, route.amount));
    }

    function _done(bool success) private pure {
        if (!success) revert TokenRefused();
    }

    /// @dev The number of the kind in the nonce.
    function _kind() internal pure virtual returns (uint8);

    /// @dev Hands `route.amount` to the bridge, or reverts.
    function _send(Route calldata route) internal virtual returns (bytes32 message, uint256 arriving);
}
