import { describe, it } from "@effect/vitest"
import { HostLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import { vi } from "vitest"

import * as ExpressSubject from "./ExpressSubject.ts"

// Express reports every error that it answers.
vi.spyOn(console, "error").mockImplementation(() => {})

for (const version of [4, 5] as const) {
  for (const manner of ["map", "steps"] as const) {
    describe(`the laws of a host, kept by Express ${version} with ${manner}`, () => {
      for (const law of [
        ...HostLaws.all,
        ...HostLaws.repeating,
        ...HostLaws.limiting,
        ...(manner === "map" ? HostLaws.discovering : [])
      ]) {
        it.live(law.name, () =>
          Effect.provideService(law.effect, HostLaws.Subject, ExpressSubject.make(version, manner))
        )
      }
    })
  }
}
