// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

interface IDollars {
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// @notice A stand-in for Circle's TokenMessengerV2, MessageTransmitterV2 and TokenMinterV2 on a local chain, in one contract, with
/// their functions, events and message formats: the issuer attests a message with its nonce and its fee, and anybody delivers it once.
/// It keeps what it would burn, and pays from what it holds what it would make.
contract LocalCctp {
    uint256 private constant messageLength = 376;

    IDollars public immutable token;
    uint32 public immutable localDomain;
    address public immutable attester;
    mapping(bytes32 nonce => uint256) public usedNonces;
    mapping(uint32 domain => bytes32) public remoteTokenMessengers;
    mapping(uint32 domain => bytes32) private remoteTokens;
    // The least fee of a message, in thousandths of a basis point.
    uint256 public minFee;

    event MessageSent(bytes message);
    event MessageReceived(
        address indexed caller,
        uint32 sourceDomain,
        bytes32 indexed nonce,
        bytes32 sender,
        uint32 indexed finalityThresholdExecuted,
        bytes messageBody
    );
    event MintAndWithdraw(
        address indexed mintRecipient, uint256 amount, address indexed mintToken, uint256 feeCollected
    );

    constructor(IDollars dollars, uint32 domain, address attestedBy) {
        token = dollars;
        localDomain = domain;
        attester = attestedBy;
    }

    /// @notice Names the other chain's contract and its token. Anybody may: the chain is a local one.
    function link(uint32 domain, bytes32 messenger, bytes32 remoteToken) external {
        remoteTokenMessengers[domain] = messenger;
        remoteTokens[domain] = remoteToken;
    }

    /// @notice Sets the least fee. Anybody may: the chain is a local one.
    function setMinFee(uint256 rate) external {
        minFee = rate;
    }

    function localMessageTransmitter() external view returns (address) {
        return address(this);
    }

    function localMinter() external view returns (address) {
        return address(this);
    }

    function getLocalToken(uint32 domain, bytes32 remoteToken) external view returns (address) {
        return remoteToken != 0 && remoteTokens[domain] == remoteToken ? address(token) : address(0);
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
        require(mintRecipient != 0, "Mint recipient must be nonzero");
        require(maxFee < amount, "Max fee must be less than amount");
        uint256 least = amount * minFee / 10_000_000;
        require(minFee == 0 || maxFee >= (least == 0 ? 1 : least), "Insufficient max fee");
        bytes32 messenger = remoteTokenMessengers[destinationDomain];
        require(messenger != 0, "No TokenMessenger for domain");
        require(token.transferFrom(msg.sender, address(this), amount), "Transfer operation failed");
        emit MessageSent(
            abi.encodePacked(
                abi.encodePacked(
                    uint32(1),
                    localDomain,
                    destinationDomain,
                    bytes32(0),
                    bytes32(uint256(uint160(address(this)))),
                    messenger,
                    destinationCaller,
                    minFinalityThreshold,
                    uint32(0)
                ),
                abi.encodePacked(
                    uint32(1),
                    bytes32(uint256(uint160(burnToken))),
                    mintRecipient,
                    amount,
                    bytes32(uint256(uint160(msg.sender))),
                    maxFee,
                    uint256(0),
                    uint256(0)
                )
            )
        );
    }

    function receiveMessage(bytes calldata message, bytes calldata attestation) external returns (bool) {
        require(attestation.length == 65, "Invalid attestation length");
        address signer = ecrecover(
            keccak256(message), uint8(attestation[64]), bytes32(attestation[:32]), bytes32(attestation[32:64])
        );
        require(signer != address(0) && signer == attester, "Invalid signature: not attester");
        require(message.length == messageLength, "Invalid message: too short");
        require(uint32(bytes4(message[8:12])) == localDomain, "Invalid destination domain");
        bytes32 caller = bytes32(message[108:140]);
        require(caller == 0 || caller == bytes32(uint256(uint160(msg.sender))), "Invalid caller for message");
        bytes32 nonce = bytes32(message[12:44]);
        require(usedNonces[nonce] == 0, "Nonce already used");
        usedNonces[nonce] = 1;
        _mint(message);
        emit MessageReceived(
            msg.sender,
            uint32(bytes4(message[4:8])),
            nonce,
            bytes32(message[44:76]),
            uint32(bytes4(message[144:148])),
            message[148:]
        );
        return true;
    }

    function _mint(bytes calldata message) private {
        uint256 expires = uint256(bytes32(message[344:376]));
        require(expires == 0 || expires > block.number, "Message expired and must be re-signed");
        uint256 amount = uint256(bytes32(message[216:248]));
        uint256 fee = uint256(bytes32(message[312:344]));
        require(fee == 0 || fee < amount, "Fee equals or exceeds amount");
        require(fee <= uint256(bytes32(message[280:312])), "Fee exceeds max fee");
        address recipient = address(uint160(uint256(bytes32(message[184:216]))));
        require(token.transfer(recipient, amount - fee), "Mint operation failed");
        emit MintAndWithdraw(recipient, amount - fee, address(token), fee);
    }
}
