import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { shownBy } from "../../src/behaviours/Behaviour.ts"
import * as Behaviours from "../../src/behaviours/Behaviours.ts"
import * as Stage from "../../src/behaviours/Stage.ts"

class OpenStage extends Context.Service<OpenStage, Stage.Stage>()("OpenStage") {}

layer(Layer.effect(OpenStage, Stage.make), { excludeTestServices: true, timeout: "15 minutes" })("behaviours", (it) => {
  for (const behaviour of Behaviours.all) {
    for (const shop of Stage.compared) {
      it.effect(`${behaviour.title}: ${shop.title}`, () =>
        Effect.gen(function* () {
          assert.match(yield* behaviour.see(yield* OpenStage, shop), shownBy(behaviour, shop))
        })
      )
    }
  }
})
