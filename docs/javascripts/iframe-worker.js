// Browsers start no workers for pages opened from the disk (file://). There the search's worker is a hidden frame, in
// which its code finds what a worker has: postMessage, importScripts and messages.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "Search";
      document.body.appendChild(this.frame);
      const page = this.frame.contentDocument;
      page.open();
      page.write("<!doctype html><html lang='en'><head><title>Search</title></head><body></body></html>");
      page.close();
      const inside = this.frame.contentWindow;
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = async (...urls) => {
        for (const one of urls) await this.load(one);
      };
      this.ready = this.load(url);
    }

    load(url) {
      return new Promise((done, failed) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = done;
        script.onerror = () => failed(new Error(`${url} cannot be loaded`));
        this.frame.contentDocument.body.appendChild(script);
      });
    }

    set onmessage(listener) {
      this.addEventListener("message", listener);
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
