/** Questions to the person at the terminal: yes or no, and a password that is not shown. */
import { createInterface } from "node:readline/promises"
import { Writable } from "node:stream"

/** The answer to a question; rejects with the signal's reason if it is aborted. */
const answer = async (question: string, isShown: boolean, signal: AbortSignal): Promise<string> => {
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() })
  const output = isShown ? process.stderr : hidden
  const asking = createInterface({ input: process.stdin, output, terminal: true })
  try {
    if (!isShown) process.stderr.write(question)
    // Ctrl-C belongs to the process, which knows what is pending.
    asking.on("SIGINT", () => void process.kill(process.pid, "SIGINT"))
    return await asking.question(isShown ? question : "", { signal })
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    asking.close()
    if (!isShown) process.stderr.write("\n")
  }
}

/** Whether the answer is yes; any other answer is no. */
export const isYes = async (question: string, signal: AbortSignal): Promise<boolean> =>
  /^y(?:es)?$/i.test((await answer(`${question} [y/N] `, true, signal)).trim())

/** A password. */
export const password = (question: string, signal: AbortSignal): Promise<string> =>
  answer(`${question}: `, false, signal)
