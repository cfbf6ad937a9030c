;;; emacs.el --- Uses Emacs as a person would, with a snippet for its init file -*- lexical-binding: t -*-
;; The findings are written to the file SEEN. The two clients differ in what is in eglot.el and lsp-mode.el.

(require 'json)
(require 'imenu)
(require 'flymake)
(require 'xref)

(defvar driver-seen nil)

(defun driver-saw (what value)
  (push (cons what value) driver-seen))

(defun driver-eventually (what look)
  "What LOOK finds at last; a command loop's hooks are run meanwhile."
  (let ((until (+ (float-time) 60)) found)
    (while (not (setq found (condition-case nil (funcall look) (error nil))))
      (when (> (float-time) until)
        (error "Never: %s" what))
      (run-hooks 'post-command-hook)
      (accept-process-output nil 0.05))
    found))

(defun driver-names (index)
  "The names of an imenu INDEX, nested ones after those they hang on."
  (let (names)
    (dolist (item index names)
      (setq names
            (append names
                    (unless (string-prefix-p "*" (car item)) (list (substring-no-properties (car item))))
                    (when (consp (cdr item)) (driver-names (cdr item))))))))

(defun driver-outline ()
  (setq imenu--index-alist nil)
  (driver-eventually "an outline"
                     (lambda () (driver-names (funcall imenu-create-index-function)))))

(defun driver-on-line (line)
  (goto-char (point-min))
  (forward-line (1- line)))

(defun driver-file-has (text)
  (with-temp-buffer
    (insert-file-contents (getenv "FILE"))
    (search-forward text nil t)))

(defun driver-kill-daemon ()
  (let ((endpoint (json-read-file (concat (getenv "SESSIOND_HOME") "/state/endpoint.json"))))
    (signal-process (alist-get 'pid endpoint) 'SIGKILL)))

(defun driver-run ()
  (find-file (getenv "FILE"))
  (let ((log (current-buffer)))
    (driver-eventually "a connection" #'driver-connected)
    (driver-saw 'outline (vconcat (driver-outline)))
    (driver-on-line 3)
    (driver-saw 'hover (driver-eventually "a hover" #'driver-hover))
    (driver-definition)
    (driver-saw 'parent (line-number-at-pos))
    (driver-on-line 3)
    (driver-act "Branch here")
    (driver-eventually "a branch" (lambda () (driver-file-has "\"leaf\"")))
    (driver-act "Label this entry")
    (driver-eventually "a label" (lambda () (driver-file-has "\"label\"")))
    (driver-act "Fork the path")
    (driver-eventually "a fork" (lambda () (cdr (directory-files (file-name-directory (getenv "FILE")) t "jsonl\\'"))))
    (find-file (getenv "DAMAGED"))
    (driver-eventually "a connection" #'driver-connected)
    (driver-saw 'problems
                (vconcat (driver-eventually
                          "a problem"
                          (lambda ()
                            (flymake-start)
                            (mapcar (lambda (it) (line-number-at-pos (flymake-diagnostic-beg it)))
                                    (flymake-diagnostics))))))
    (switch-to-buffer log)
    (driver-kill-daemon)
    (driver-saw 'outline_again (vconcat (driver-outline)))))

(load (expand-file-name (getenv "CLIENT") (file-name-directory load-file-name)))

(defun driver-run-and-end ()
  (condition-case problem
      (driver-run)
    (error
     (driver-saw 'error (format "%S" problem))
     (driver-saw 'messages (with-current-buffer "*Messages*" (buffer-string)))))
  (with-temp-file (getenv "SEEN")
    (insert (json-encode driver-seen)))
  (setq kill-emacs-hook nil)
  (kill-emacs 0))

(defun driver-serve ()
  "Open the file, and do what emacsclient asks."
  (require 'server)
  (setq server-socket-dir (getenv "SOCKETS")
        server-name "emacs")
  (find-file (getenv "FILE"))
  (server-start))
