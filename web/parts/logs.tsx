/** Logs of pods, where the viewer's rights allow it. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { PodsOf } from "../../src/web/types.ts";
import { logs, pods } from "../api.ts";

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A dialog with the end of one pod's log. */
export function LogDialog(props: { namespace: string; cluster: string; pod: string; close: () => void }) {
  const { namespace, cluster, pod, close } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState<string | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const read = async () => {
    setProblem(undefined);
    try {
      setText((await logs({ namespace, cluster, pod })).text);
    } catch (error) {
      setProblem(words(error));
    }
  };
  useEffect(() => {
    dialog.current?.showModal();
    void read();
  }, []);
  return (
    <dialog ref={dialog} class="wide" onClose={close} aria-labelledby="log-title">
      <h2 id="log-title">
        Log of {pod} <span class="dim">in {cluster}</span>
      </h2>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {text === undefined && problem === undefined && <p class="dim">Reading ...</p>}
      {text !== undefined && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it
        <pre class="log" tabIndex={0}>
          {text === "" ? "(it has written nothing)" : text}
        </pre>
      )}
      <div class="buttons end">
        <button type="button" class="quiet" onClick={() => void read()}>
          Read again
        </button>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}

/** The pods of a workload or an attempt, read when they are asked for. */
export function PodList({ of, gone }: { of: PodsOf; gone: string }) {
  const [found, setFound] = useState<readonly string[] | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [pod, open] = useState<string | undefined>(undefined);
  const look = async () => {
    setProblem(undefined);
    try {
      setFound((await pods(of)).pods);
    } catch (error) {
      setProblem(words(error));
    }
  };
  return (
    <>
      {found === undefined ? (
        <button
          type="button"
          class="quiet"
          aria-label={`Pods and logs of ${of.name} in ${of.cluster}`}
          onClick={() => void look()}
        >
          Pods and logs
        </button>
      ) : found.length === 0 ? (
        <span class="dim">{gone}</span>
      ) : (
        found.map((name) => (
          <button
            key={name}
            type="button"
            class="quiet"
            aria-label={`${name}: show its log`}
            onClick={() => open(name)}
          >
            {name}
          </button>
        ))
      )}
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {pod !== undefined && (
        <LogDialog namespace={of.namespace} cluster={of.cluster} pod={pod} close={() => open(undefined)} />
      )}
    </>
  );
}
