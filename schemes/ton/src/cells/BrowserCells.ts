/**
 * The part of `@ton/core` that payers use, under the same names and with the same results, on `Uint8Array` instead of Node's
 * `Buffer`: ordinary cells, addresses of standard form, state inits. `BrowserCells.fuzz.test.ts` compares the two.
 */
export { Address } from "./BrowserAddress.ts"
export { bytesOf, cellFrom } from "./BagOfCells.ts"
export { beginCell, Builder } from "./CellBuilder.ts"
export { Cell } from "./OrdinaryCell.ts"
export { contractAddress, loadBytes, loadStateInit, storeBytes, storeStateInit } from "./BrowserState.ts"
