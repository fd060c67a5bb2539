// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// @notice A dollar token with the features of USDT that affect payments: a blacklist, a pause, an optional fee, and a transfer that returns false on success.
contract TronDollar {
    string public name = "Test Dollar";
    string public symbol = "TUSD";
    uint8 public constant decimals = 6;
    address public owner;
    bool public paused;
    uint256 public basisPointsRate;
    uint256 public maximumFee;
    uint256 public totalSupply;
    mapping(address => uint256) internal _balances;
    mapping(address => mapping(address => uint256)) internal _allowances;
    mapping(address => bool) public isBlackListed;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event AddedBlackList(address indexed account);
    event RemovedBlackList(address indexed account);
    event Pause();
    event Unpause();
    event Params(uint256 feeBasisPoints, uint256 maxFee);

    constructor() {
        owner = msg.sender;
    }

    modifier onlyOwner() {
        require(msg.sender == owner, "not the owner");
        _;
    }

    function mint(address to, uint256 value) external onlyOwner {
        totalSupply += value;
        _balances[to] += value;
        emit Transfer(address(0), to, value);
    }

    function addBlackList(address account) external onlyOwner {
        isBlackListed[account] = true;
        emit AddedBlackList(account);
    }

    function removeBlackList(address account) external onlyOwner {
        isBlackListed[account] = false;
        emit RemovedBlackList(account);
    }

    function pause() external onlyOwner {
        paused = true;
        emit Pause();
    }

    function unpause() external onlyOwner {
        paused = false;
        emit Unpause();
    }

    function setParams(uint256 newBasisPoints, uint256 newMaximumFee) external onlyOwner {
        basisPointsRate = newBasisPoints;
        maximumFee = newMaximumFee;
        emit Params(newBasisPoints, newMaximumFee);
    }

    function balanceOf(address account) external view returns (uint256) {
        return _balances[account];
    }

    function allowance(address account, address spender) external view returns (uint256) {
        return _allowances[account][spender];
    }

    function approve(address spender, uint256 value) external returns (bool) {
        _allowances[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external virtual returns (bool) {
        _move(msg.sender, to, value);
        return false;
    }

    function transferFrom(address from, address to, uint256 value) external virtual returns (bool) {
        require(_allowances[from][msg.sender] >= value, "allowance");
        _allowances[from][msg.sender] -= value;
        _move(from, to, value);
        return true;
    }

    function _move(address from, address to, uint256 value) internal virtual {
        require(!paused, "paused");
        require(!isBlackListed[from], "blacklisted");
        require(_balances[from] >= value, "insufficient balance");
        uint256 fee = (value * basisPointsRate) / 10000;
        if (fee > maximumFee) fee = maximumFee;
        _balances[from] -= value;
        _balances[to] += value - fee;
        emit Transfer(from, to, value - fee);
        if (fee > 0) {
            _balances[owner] += fee;
            emit Transfer(from, owner, fee);
        }
    }
}
