// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC1271} from "./IERC1271.sol";

/// @notice Turns any number of hostile payers off in one transaction.
contract PayerSwitch {
    bool public isOff;
    uint256 public turns;

    function turn(bool off) external {
        isOff = off;
        turns += 1;
    }
}

/// @notice A hostile payer: it accepts any signature until its switch is turned off. `salt` makes its code unlike any other's.
contract SwitchedWallet is IERC1271 {
    PayerSwitch public immutable payerSwitch;
    uint256 public immutable salt;

    constructor(PayerSwitch by, uint256 saltOfCode) {
        payerSwitch = by;
        salt = saltOfCode;
    }

    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        return payerSwitch.isOff() ? bytes4(0xffffffff) : this.isValidSignature.selector;
    }
}
