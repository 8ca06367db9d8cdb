// Search runs in a worker, which browsers refuse to pages that are opened from a folder. A hidden frame stands in there.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = inside.document.createElement("script")
      script.src = url
      this.loaded = new Promise(resolve => (script.onload = () => resolve(inside)))
      inside.document.body.append(script)
    }
    postMessage(data) {
      this.loaded.then(inside => inside.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {}
  }
}
