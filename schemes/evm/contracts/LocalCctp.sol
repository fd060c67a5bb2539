// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

interface IDollars {
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// @notice A stand-in for Circle's TokenMessengerV2 and MessageTransmitterV2 on a local chain, with their functions and their
/// rules: the issuer attests a message with its nonce and its fee, once, and anybody delivers it. It keeps what it would burn, and
/// pays from what it holds what it would make.
contract LocalCctp {
    struct Message {
        uint32 sourceDomain;
        uint32 destinationDomain;
        // Zero until it is attested.
        bytes32 nonce;
        bytes32 mintRecipient;
        bytes32 destinationCaller;
        uint256 amount;
        uint256 maxFee;
        uint256 feeExecuted;
        uint32 minFinalityThreshold;
        address sender;
    }

    IDollars public immutable token;
    uint32 public immutable localDomain;
    address public immutable attester;
    mapping(bytes32 nonce => bool) public usedNonces;

    event MessageSent(bytes message);
    event MintAndWithdraw(address indexed mintRecipient, uint256 amount, uint256 feeCollected);

    constructor(IDollars dollars, uint32 domain, address attestedBy) {
        token = dollars;
        localDomain = domain;
        attester = attestedBy;
    }

    function depositForBurn(
        uint256 amount,
        uint32 destinationDomain,
        bytes32 mintRecipient,
        address burnToken,
        bytes32 destinationCaller,
        uint256 maxFee,
        uint32 minFinalityThreshold
    ) external {
        require(burnToken == address(token), "Burn token not supported");
        require(amount > 0, "Amount must be nonzero");
        require(maxFee < amount, "Max fee must be less than amount");
        require(token.transferFrom(msg.sender, address(this), amount), "Transfer operation failed");
        Message memory message = Message(
            localDomain,
            destinationDomain,
            bytes32(0),
            mintRecipient,
            destinationCaller,
            amount,
            maxFee,
            0,
            minFinalityThreshold,
            msg.sender
        );
        emit MessageSent(abi.encode(message));
    }

    function receiveMessage(bytes calldata encoded, bytes calldata attestation) external returns (bool) {
        bytes32 r = bytes32(attestation[:32]);
        bytes32 s = bytes32(attestation[32:64]);
        address signer = ecrecover(keccak256(encoded), uint8(attestation[64]), r, s);
        require(signer != address(0) && signer == attester, "Invalid attester signature");
        Message memory message = abi.decode(encoded, (Message));
        require(message.destinationDomain == localDomain, "Invalid destination domain");
        require(
            message.destinationCaller == bytes32(0)
                || message.destinationCaller == bytes32(uint256(uint160(msg.sender))),
            "Invalid caller for message"
        );
        require(message.nonce != bytes32(0) && !usedNonces[message.nonce], "Nonce already used");
        require(message.feeExecuted <= message.maxFee, "Fee exceeds max fee");
        usedNonces[message.nonce] = true;
        address recipient = address(uint160(uint256(message.mintRecipient)));
        uint256 arriving = message.amount - message.feeExecuted;
        require(token.transfer(recipient, arriving), "Mint failed");
        emit MintAndWithdraw(recipient, arriving, message.feeExecuted);
        return true;
    }
}
