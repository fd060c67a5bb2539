// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {StrictSignature} from "./StrictSignature.sol";
import {TokenTransfer} from "./TokenTransfer.sol";

/// @notice Pulls the tokens of a deposit from their owner to the channel contract.
interface IDepositCollector {
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata collectorData)
        external;
}

interface IBalances {
    function balanceOf(address account) external view returns (uint256);
}

/// @notice The payment channels of the scheme `batch-settlement` for tests, with the functions, events, errors and checks of the
/// contract that x402 has deployed. The EIP-712 domain is computed in each call, so that the code works at any address.
contract ChannelSettlement {
    /// @notice The terms of a channel. Their EIP-712 digest is the channel's id.
    struct ChannelConfig {
        address payer;
        address payerAuthorizer;
        address receiver;
        address receiverAuthorizer;
        address token;
        uint40 withdrawDelay;
        bytes32 salt;
    }

    struct ChannelState {
        uint128 balance;
        uint128 totalClaimed;
    }

    struct WithdrawalState {
        uint128 amount;
        uint40 initiatedAt;
    }

    struct ReceiverState {
        uint128 totalClaimed;
        uint128 totalSettled;
    }

    /// @notice A ceiling that the payer's side has signed.
    struct Voucher {
        ChannelConfig channel;
        uint128 maxClaimableAmount;
    }

    /// @notice A voucher, its signature, and the sum of all claims that the receiver's side wants to have made.
    struct VoucherClaim {
        Voucher voucher;
        bytes signature;
        uint128 totalClaimed;
    }

    uint40 public constant MIN_WITHDRAW_DELAY = 900;
    uint40 public constant MAX_WITHDRAW_DELAY = 2_592_000;

    bytes32 public constant CHANNEL_CONFIG_TYPEHASH = keccak256(
        "ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)"
    );
    bytes32 public constant VOUCHER_TYPEHASH = keccak256("Voucher(bytes32 channelId,uint128 maxClaimableAmount)");
    bytes32 public constant REFUND_TYPEHASH = keccak256("Refund(bytes32 channelId,uint256 nonce,uint128 amount)");
    bytes32 public constant CLAIM_ENTRY_TYPEHASH =
        keccak256("ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)");
    bytes32 public constant CLAIM_BATCH_TYPEHASH = keccak256(
        "ClaimBatch(ClaimEntry[] claims)ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)"
    );
    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    string private constant NAME = "x402 Batch Settlement";
    string private constant VERSION = "1";

    mapping(bytes32 channelId => ChannelState) public channels;
    mapping(bytes32 channelId => WithdrawalState) public pendingWithdrawals;
    mapping(bytes32 channelId => uint256) public refundNonce;
    mapping(address receiver => mapping(address token => ReceiverState)) public receivers;
    bool private transient isEntered;

    event ChannelCreated(bytes32 indexed channelId, ChannelConfig config);
    event ChannelClosed(bytes32 indexed channelId, ChannelConfig config);
    event Deposited(bytes32 indexed channelId, address indexed sender, uint128 amount, uint128 newBalance);
    event Claimed(bytes32 indexed channelId, address indexed sender, uint128 claimAmount, uint128 newTotalClaimed);
    event Settled(address indexed receiver, address indexed token, address indexed sender, uint128 amount);
    event Refunded(bytes32 indexed channelId, address indexed sender, uint128 amount);
    event WithdrawInitiated(bytes32 indexed channelId, uint128 amount, uint40 finalizeAfter);
    event WithdrawFinalized(bytes32 indexed channelId, address indexed sender, uint128 amount);

    error InvalidChannel();
    error WithdrawDelayOutOfRange();
    error ZeroDeposit();
    error InvalidCollector();
    error DepositOverflow();
    error DepositCollectionFailed();
    error EmptyBatch();
    error NotAuthorizedToClaim();
    error NotReceiverAuthorizer();
    error InvalidSignature();
    error ClaimExceedsCeiling();
    error ClaimExceedsBalance();
    error NotAuthorizedToRefund();
    error ZeroRefund();
    error InvalidRefundNonce();
    error NothingToWithdraw();
    error WithdrawalAlreadyPending();
    error WithdrawAmountExceedsAvailable();
    error NotAuthorizedToFinalizeWithdraw();
    error WithdrawalNotPending();
    error WithdrawDelayNotElapsed();
    error ReentrancyGuardReentrantCall();

    modifier once() {
        if (isEntered) revert ReentrancyGuardReentrantCall();
        isEntered = true;
        _;
        isEntered = false;
    }

    function deposit(ChannelConfig calldata config, uint128 amount, address collector, bytes calldata collectorData)
        external
        once
    {
        if (
            config.payer == address(0) || config.receiver == address(0) || config.receiverAuthorizer == address(0)
                || config.token == address(0)
        ) revert InvalidChannel();
        if (config.withdrawDelay < MIN_WITHDRAW_DELAY || config.withdrawDelay > MAX_WITHDRAW_DELAY) {
            revert WithdrawDelayOutOfRange();
        }
        if (amount == 0) revert ZeroDeposit();
        if (collector == address(0)) revert InvalidCollector();
        bytes32 id = getChannelId(config);
        ChannelState storage channel = channels[id];
        if (channel.balance > type(uint128).max - amount) revert DepositOverflow();
        channel.balance += amount;
        uint256 expected = IBalances(config.token).balanceOf(address(this)) + amount;
        IDepositCollector(collector).collect(config.payer, config.token, amount, id, collectorData);
        if (IBalances(config.token).balanceOf(address(this)) != expected) revert DepositCollectionFailed();
        if (channel.balance == amount && channel.totalClaimed == 0) emit ChannelCreated(id, config);
        emit Deposited(id, msg.sender, amount, channel.balance);
    }

    function claim(VoucherClaim[] calldata voucherClaims) external once {
        if (voucherClaims.length == 0) revert EmptyBatch();
        for (uint256 i = 0; i < voucherClaims.length; i++) {
            if (!_isReceiverSide(voucherClaims[i].voucher.channel)) revert NotAuthorizedToClaim();
            _claim(voucherClaims[i]);
        }
    }

    function claimWithSignature(VoucherClaim[] calldata voucherClaims, bytes calldata authorizerSignature)
        external
        once
    {
        if (voucherClaims.length == 0) revert EmptyBatch();
        address authorizer = voucherClaims[0].voucher.channel.receiverAuthorizer;
        if (!StrictSignature.isValid(authorizer, getClaimBatchDigest(voucherClaims), authorizerSignature)) {
            revert InvalidSignature();
        }
        for (uint256 i = 0; i < voucherClaims.length; i++) {
            if (voucherClaims[i].voucher.channel.receiverAuthorizer != authorizer) revert NotReceiverAuthorizer();
            _claim(voucherClaims[i]);
        }
    }

    function settle(address receiver, address token) external once {
        ReceiverState storage sums = receivers[receiver][token];
        uint128 amount = sums.totalClaimed - sums.totalSettled;
        if (amount == 0) return;
        sums.totalSettled = sums.totalClaimed;
        TokenTransfer.send(token, receiver, amount);
        emit Settled(receiver, token, msg.sender, amount);
    }

    function initiateWithdraw(ChannelConfig calldata config, uint128 amount) external once {
        if (!_isPayerSide(config)) revert InvalidChannel();
        if (amount == 0) revert NothingToWithdraw();
        bytes32 id = getChannelId(config);
        WithdrawalState storage pending = pendingWithdrawals[id];
        if (pending.initiatedAt != 0) revert WithdrawalAlreadyPending();
        if (amount > _headroom(channels[id])) revert WithdrawAmountExceedsAvailable();
        pending.amount = amount;
        pending.initiatedAt = uint40(block.timestamp);
        emit WithdrawInitiated(id, amount, uint40(block.timestamp) + config.withdrawDelay);
    }

    function finalizeWithdraw(ChannelConfig calldata config) external once {
        if (!_isPayerSide(config)) revert NotAuthorizedToFinalizeWithdraw();
        bytes32 id = getChannelId(config);
        WithdrawalState memory pending = pendingWithdrawals[id];
        if (pending.initiatedAt == 0) revert WithdrawalNotPending();
        if (block.timestamp < uint256(pending.initiatedAt) + config.withdrawDelay) revert WithdrawDelayNotElapsed();
        delete pendingWithdrawals[id];
        uint128 amount = _least(pending.amount, _headroom(channels[id]));
        channels[id].balance -= amount;
        emit WithdrawFinalized(id, msg.sender, amount);
        _reportClosed(id, config);
        if (amount > 0) TokenTransfer.send(config.token, config.payer, amount);
    }

    function refund(ChannelConfig calldata config, uint128 amount) external once {
        if (!_isReceiverSide(config)) revert NotAuthorizedToRefund();
        _refund(config, amount);
    }

    function refundWithSignature(
        ChannelConfig calldata config,
        uint128 amount,
        uint256 nonce,
        bytes calldata receiverAuthorizerSignature
    ) external once {
        bytes32 id = getChannelId(config);
        if (nonce != refundNonce[id]) revert InvalidRefundNonce();
        bytes32 digest = getRefundDigest(id, nonce, amount);
        if (!StrictSignature.isValid(config.receiverAuthorizer, digest, receiverAuthorizerSignature)) {
            revert InvalidSignature();
        }
        _refund(config, amount);
    }

    /// @notice Several calls in one, or none: the first that reverts reverts them all, with its reason.
    function multicall(bytes[] calldata data) external returns (bytes[] memory results) {
        results = new bytes[](data.length);
        for (uint256 i = 0; i < data.length; i++) {
            (bool success, bytes memory result) = address(this).delegatecall(data[i]);
            if (!success) {
                assembly ("memory-safe") {
                    revert(add(result, 32), mload(result))
                }
            }
            results[i] = result;
        }
    }

    function getChannelId(ChannelConfig calldata config) public view returns (bytes32) {
        return _digest(keccak256(abi.encode(CHANNEL_CONFIG_TYPEHASH, config)));
    }

    function getVoucherDigest(bytes32 channelId, uint128 maxClaimableAmount) public view returns (bytes32) {
        return _digest(keccak256(abi.encode(VOUCHER_TYPEHASH, channelId, maxClaimableAmount)));
    }

    function getRefundDigest(bytes32 channelId, uint256 nonce, uint128 amount) public view returns (bytes32) {
        return _digest(keccak256(abi.encode(REFUND_TYPEHASH, channelId, nonce, amount)));
    }

    function getClaimBatchDigest(VoucherClaim[] calldata voucherClaims) public view returns (bytes32) {
        bytes32[] memory rows = new bytes32[](voucherClaims.length);
        for (uint256 i = 0; i < rows.length; i++) {
            VoucherClaim calldata row = voucherClaims[i];
            bytes32 id = getChannelId(row.voucher.channel);
            rows[i] = keccak256(
                abi.encode(CLAIM_ENTRY_TYPEHASH, id, row.voucher.maxClaimableAmount, row.totalClaimed)
            );
        }
        return _digest(keccak256(abi.encode(CLAIM_BATCH_TYPEHASH, keccak256(abi.encodePacked(rows)))));
    }

    /// @notice The EIP-712 domain, as ERC-5267 describes it.
    function eip712Domain()
        external
        view
        returns (
            bytes1 fields,
            string memory name,
            string memory version,
            uint256 chainId,
            address verifyingContract,
            bytes32 salt,
            uint256[] memory extensions
        )
    {
        return (hex"0f", NAME, VERSION, block.chainid, address(this), bytes32(0), new uint256[](0));
    }

    function _digest(bytes32 structHash) private view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(DOMAIN_TYPEHASH, keccak256(bytes(NAME)), keccak256(bytes(VERSION)), block.chainid, address(this))
        );
        return keccak256(abi.encodePacked(hex"1901", domain, structHash));
    }

    /// @dev A row whose total is claimed already changes nothing, so that a replay is harmless.
    function _claim(VoucherClaim calldata row) private {
        ChannelConfig calldata config = row.voucher.channel;
        bytes32 id = getChannelId(config);
        ChannelState storage channel = channels[id];
        uint128 total = row.totalClaimed;
        if (total <= channel.totalClaimed) return;
        if (total > row.voucher.maxClaimableAmount) revert ClaimExceedsCeiling();
        if (total > channel.balance) revert ClaimExceedsBalance();
        _requireVoucher(config, getVoucherDigest(id, row.voucher.maxClaimableAmount), row.signature);
        uint128 added = total - channel.totalClaimed;
        channel.totalClaimed = total;
        receivers[config.receiver][config.token].totalClaimed += added;
        emit Claimed(id, msg.sender, added, total);
    }

    function _requireVoucher(ChannelConfig calldata config, bytes32 digest, bytes calldata signature) private view {
        bool isValid = config.payerAuthorizer == address(0)
            ? StrictSignature.isValid(config.payer, digest, signature)
            : StrictSignature.recover(digest, signature) == config.payerAuthorizer;
        if (!isValid) revert InvalidSignature();
    }

    /// @dev The nonce rises by a refund that moves nothing too. A refund lowers a pending withdrawal, or ends it.
    function _refund(ChannelConfig calldata config, uint128 amount) private {
        if (amount == 0) revert ZeroRefund();
        bytes32 id = getChannelId(config);
        unchecked {
            refundNonce[id]++;
        }
        uint128 moved = _least(amount, _headroom(channels[id]));
        if (moved == 0) return;
        channels[id].balance -= moved;
        WithdrawalState storage pending = pendingWithdrawals[id];
        if (pending.initiatedAt != 0) {
            if (moved >= pending.amount) delete pendingWithdrawals[id];
            else pending.amount -= moved;
        }
        emit Refunded(id, msg.sender, moved);
        _reportClosed(id, config);
        TokenTransfer.send(config.token, config.payer, moved);
    }

    function _reportClosed(bytes32 id, ChannelConfig calldata config) private {
        if (channels[id].balance == 0 && channels[id].totalClaimed == 0) emit ChannelClosed(id, config);
    }

    function _headroom(ChannelState storage channel) private view returns (uint128) {
        return channel.balance - channel.totalClaimed;
    }

    function _least(uint128 one, uint128 other) private pure returns (uint128) {
        return one < other ? one : other;
    }

    function _isPayerSide(ChannelConfig calldata config) private view returns (bool) {
        return msg.sender == config.payer || msg.sender == config.payerAuthorizer;
    }

    function _isReceiverSide(ChannelConfig calldata config) private view returns (bool) {
        return msg.sender == config.receiver || msg.sender == config.receiverAuthorizer;
    }
}
