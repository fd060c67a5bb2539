/** Chromium as npm brings it, without a window; or the one that `CHROME_PATH` names. */
import * as Effect from "effect/Effect"
import { type Browser, launch } from "puppeteer-core"

import { browserPath } from "../../scripts/InstallBrowser.ts"

const started = async (): Promise<Browser> => {
  const executablePath = process.env["CHROME_PATH"] ?? browserPath
  const args = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking"
  ]
  try {
    // A busy machine may take long for any step; no verdict depends on how long.
    return await launch({
      executablePath,
      args,
      headless: "shell",
      timeout: 300_000,
      protocolTimeout: 600_000
    })
  } catch (cause) {
    throw new Error(
      "Chromium did not start. It needs the system's libnss3 and libnspr4; else name another browser in CHROME_PATH.",
      { cause }
    )
  }
}

/** A browser, as long as the scope lasts. */
export const make = Effect.acquireRelease(Effect.promise(started), (browser) => Effect.promise(() => browser.close()))
