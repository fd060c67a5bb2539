/** Configurations of the chain with other prices than those of 2025, which the local chain has. */
import { beginCell, Cell, Dictionary } from "@ton/core"
import { Blockchain } from "@ton/sandbox"
import * as Effect from "effect/Effect"

/** A sixth of the prices of gas and of messages. */
export const cheap: Effect.Effect<Cell> = Effect.promise(async () => {
  const { config } = await Blockchain.create({ config: "slim" })
  const cell = typeof config === "string" ? Cell.fromBase64(config) : config
  const parameters = cell.beginParse().loadDictDirect(Dictionary.Keys.Int(32), Dictionary.Values.Cell())
  const scaled = (parameter: number, at: ReadonlyArray<number>) => {
    const slice = parameters.get(parameter)?.beginParse()
    if (slice === undefined) return
    const bits = slice.remainingBits
    const builder = beginCell().storeUint(slice.loadUint(8), 8)
    for (let place = 8; place < bits;) {
      const width = at.includes(place) ? 64 : Math.min(8, bits - place)
      const value = slice.loadUintBig(width)
      builder.storeUint(at.includes(place) ? value / 6n : value, width)
      place += width
    }
    parameters.set(parameter, builder.endCell())
  }
  scaled(21, [72, 144])
  scaled(25, [8, 72, 136])
  return beginCell().storeDictDirect(parameters).endCell()
})
