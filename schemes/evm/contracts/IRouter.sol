// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice A route of money: from `token` on this chain, by `bridge`, to `recipient` on another chain.
struct Route {
    // The token that the payer pays in, with transfer authorizations (EIP-3009).
    address token;
    // The bridge's contract for that token here: an OFT of LayerZero, or Circle's TokenMessengerV2.
    address bridge;
    // The other chain as the bridge numbers it: LayerZero's endpoint id, or CCTP's domain.
    uint32 destination;
    // The recipient there, left-padded with zeros.
    bytes32 recipient;
    // What is sent over the bridge, in the token's smallest unit.
    uint256 amount;
    // The least that arrives.
    uint256 minimum;
    // What whoever is named below gets on this chain, beside `amount`.
    uint256 fee;
    address feeRecipient;
    // OFT: the executor's options. CCTP: the least finality of the attestation, as one word.
    bytes options;
    // Binds the payment to what it pays for.
    bytes32 tag;
}

/// @notice Sends a payer's money to another chain by one signature of the payer: an EIP-3009 `ReceiveWithAuthorization` to the
/// router, whose nonce is the hash of the whole route. Whoever submits it, another route has another nonce.
interface IRouter {
    /// @notice The payment of `from` under `nonce` has left. `message` names it on the bridge (zero where the bridge names it
    /// later), and `arriving` is the least that arrives.
    event Bridged(address indexed from, bytes32 indexed nonce, bytes32 indexed message, uint256 arriving);

    /// @notice The nonce that the payer signs: 24 bytes of a hash and 8 zero bytes, for tokens with random nonces and tokens
    /// with keyed sequences.
    function nonceOf(Route calldata route) external view returns (bytes32);

    /// @notice Takes `amount + fee` of the payer's tokens and sends them on their route. The value pays for the bridge's message.
    function pay(address from, uint256 validAfter, uint256 validBefore, bytes calldata signature, Route calldata route)
        external
        payable;
}
