import { once } from "node:events";

/** Says that this process is loaded and waits for the word, so that several start their work at the same moment. */
export async function gate(word: string): Promise<void> {
  console.log(word);
  await once(process.stdin, "data");
  process.stdin.destroy();
}
