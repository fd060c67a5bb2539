// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice Deploys what it is given, and then misbehaves: 0 not at all, 1 it burns the rest of its gas, 2 it returns 200 000
/// bytes, 3 it deploys only in a simulation without a price, 4 it moves its caller's tokens to itself.
contract HostileFactory {
    function make(uint256 mode, bytes memory initCode, address token) external returns (address made) {
        if (mode == 3 && tx.gasprice != 0) return address(0);
        assembly {
            made := create2(0, add(initCode, 32), mload(initCode), 0)
        }
        if (mode == 1) for (uint256 i = 0; gasleft() > 300; i++) {}
        if (mode == 4) {
            (bool ok,) = token.call(abi.encodeWithSelector(0x23b872dd, msg.sender, address(this), 1));
            require(ok);
        }
        if (mode == 2) {
            assembly {
                return(0, 200000)
            }
        }
    }
}
