import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as CellTrial from "../../src/matrix/CellTrial.ts"
import * as Market from "../../src/matrix/Market.ts"
import * as Matrix from "../../src/matrix/Matrix.ts"
import { buyers, facilitators, shops } from "../../src/matrix/Parties.ts"

class OpenMarket extends Context.Service<OpenMarket, Market.Market>()("OpenMarket") {}

const titleOf = (cell: CellTrial.Cell): string => {
  const rule = Matrix.ruleOf(cell)
  const buyer = buyers[cell.buyer].title
  const seller = `${shops[cell.shop].title} with ${facilitators[cell.facilitator].title}`
  return rule === undefined ? `${buyer} pays ${seller}` : `${buyer} cannot pay ${seller}: ${rule.because}`
}

layer(Layer.effect(OpenMarket, Market.make(Matrix.sells)), { excludeTestServices: true, timeout: "15 minutes" })(
  "matrix",
  (it) => {
    for (const cell of Matrix.cells) {
      it.effect(titleOf(cell), () =>
        Effect.gen(function* () {
          const market = yield* OpenMarket
          const { answer, facts } = Matrix.expected(cell, market.chain.node.accounts.payee.address)
          const sight = yield* CellTrial.run(market, cell)
          assert.match(Matrix.answerOf(sight), answer)
          assert.deepStrictEqual(Matrix.factsOf(sight), facts)
        })
      )
    }
  }
)
