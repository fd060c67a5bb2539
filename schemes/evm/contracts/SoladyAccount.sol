// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC4337} from "solady/src/accounts/ERC4337.sol";
import {LibClone} from "solady/src/utils/LibClone.sol";

/// @notice Solady's account as it is published, with a name: its signatures are those of ERC-7739.
contract SoladyAccount is ERC4337 {
    function _domainNameAndVersion() internal pure override returns (string memory, string memory) {
        return ("SoladyAccount", "1");
    }
}

/// @notice Makes accounts of Solady's kind, each at an address that its owner and a salt determine.
contract SoladyFactory {
    address public immutable implementation = address(new SoladyAccount());

    function createAccount(address owner, bytes32 salt) external returns (address payable account) {
        (bool exists, address found) = LibClone.createDeterministicERC1967(implementation, _saltOf(owner, salt));
        account = payable(found);
        if (!exists) SoladyAccount(account).initialize(owner);
    }

    function getAddress(address owner, bytes32 salt) external view returns (address) {
        return LibClone.predictDeterministicAddressERC1967(implementation, _saltOf(owner, salt), address(this));
    }

    function _saltOf(address owner, bytes32 salt) private pure returns (bytes32) {
        return keccak256(abi.encode(owner, salt));
    }
}
