// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice A token without money whose `transferFrom` makes another call, which anybody has named before.
contract CallingToken {
    address private target;
    bytes private data;

    function aim(address target_, bytes calldata data_) external {
        target = target_;
        data = data_;
    }

    function transferFrom(address, address, uint256) external returns (bool ok) {
        (ok,) = target.call(data);
    }
}
